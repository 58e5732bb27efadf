"""The actor: a process with one component. It imports no library that reads the environment when it is loaded."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import T2IError

from .carried_error import carry_error
from .messages import BlockAnswer, Greeting, Introduction, Opening, SentItem
from .shared_folder import answer_probe
from .versions import list_versions

if TYPE_CHECKING:
    from .hosted_component import HostedComponent


class Worker:
    """Holds a component. Errors of t2i are returned, because Ray would wrap them."""

    def __init__(self) -> None:
        self._hosted: HostedComponent | None = None

    def introduce(self, greeting: Greeting) -> Introduction:
        """Get ready to import libraries, and say what is installed here."""
        import ray

        os.environ.update(greeting.environment)
        with suppress(OSError):  # another machine may not have it
            os.chdir(greeting.folder)
        answer_probe(greeting.probe)
        node = ray.get_runtime_context().get_node_id()
        return Introduction(socket.gethostname(), node, list_versions(greeting.dists))

    def open(self, opening: Opening) -> T2IError | None:
        """Create the component; return the error if that fails."""
        from .hosted_component import HostedComponent

        try:
            self._hosted = HostedComponent(opening)
        except T2IError as error:
            return carry_error(error)
        return None

    def answer(self, block: Sequence[SentItem]) -> BlockAnswer:
        """Answer a block of items."""
        assert self._hosted is not None
        return self._hosted.answer(block)

    def get_settings(self) -> Mapping[str, Any] | T2IError:
        """Return the settings that the component reports."""
        assert self._hosted is not None
        try:
            return self._hosted.get_settings()
        except T2IError as error:
            return carry_error(error)

    def close(self) -> T2IError | None:
        """Release the component; return the error if that fails."""
        try:
            if self._hosted is not None:
                self._hosted.close()
        except T2IError as error:
            return carry_error(error)
        return None
