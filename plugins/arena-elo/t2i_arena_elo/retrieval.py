"""Generator `wikimedia`: no model, but the picture that a search of Wikimedia Commons puts first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from t2i_core.api import Failure, Generated, ImageRequest, Prompt, Setup
from t2i_core.api.errors import BadModel
from t2i_core.files.image_file import DamagedImage, decode

from .commons import Commons, Unanswered
from .options import WikimediaOptions


class Wikimedia:
    """What a search finds for each prompt: under seed 0 the first picture, under 1 the second, ..."""

    def __init__(self, setup: Setup[WikimediaOptions]) -> None:
        options = setup.options
        if setup.offline:
            raise BadModel(f"'wikimedia' is a server ({options.server}): it cannot be asked offline")
        self.options = options
        self.commons = Commons(options.server, options.contact, options.timeout, options.retries)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the manifest says of it."""
        return {"server": self.options.server}

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request with what was found; nothing found is missing, no answer has failed."""
        for request in requests:
            yield request, self._find(request)

    def _find(self, request: ImageRequest) -> Generated | Failure:
        words = self.words(request.prompt)
        try:
            hit = self.commons.search(words, request.seed, self.options.width)
            if hit is None:
                return Failure(f"nothing is found for {words!r} at place {request.seed + 1}", missing=True)
            pixels = decode(self.commons.fetch(hit.url), hit.title)
        except (Unanswered, DamagedImage) as error:
            return Failure(str(error))
        record = {
            "title": hit.title,
            "page": hit.page,
            "sha1": hit.sha1,
            "licence": hit.licence,
            "author": hit.author,
        }
        return Generated(pixels, {"searched": words, **record})

    def words(self, prompt: Prompt) -> str:
        """What is searched for: the names of the prompt's objects, or its text."""
        if self.options.search == "lemma" and prompt.scene is not None and prompt.scene.objects:
            return " ".join(dict.fromkeys(cls.name for cls in prompt.scene.classes))
        return prompt.text
