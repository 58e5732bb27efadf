"""Generator `wikimedia`: a baseline that retrieves pictures from Wikimedia Commons instead of generating them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from t2i_core.api import Failure, Generated, ImageRequest, Prompt, Setup
from t2i_core.api.errors import BadModel
from t2i_core.files.image_file import DamagedImage, decode

from .commons import Commons, Unanswered
from .options import WikimediaOptions


class Wikimedia:
    """Search results for each prompt: seed 0 gives the first picture, seed 1 the second, and so on."""

    def __init__(self, setup: Setup[WikimediaOptions]) -> None:
        options = setup.options
        if setup.offline:
            raise BadModel(f"'wikimedia' needs a server ({options.server}): run it without --offline")
        self.options = options
        self.commons = Commons(options.server, options.contact, options.timeout, options.retries)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings for the manifest."""
        return {"server": self.options.server}

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request with its picture.

        A request without a search result is missing; a request without a response from the server has failed.
        """
        for request in requests:
            yield request, self._find(request)

    def _find(self, request: ImageRequest) -> Generated | Failure:
        words = self.words(request.prompt)
        try:
            hit = self.commons.search(words, request.seed, self.options.width)
            if hit is None:
                return Failure(f"the search for {words!r} has no result number {request.seed + 1}", missing=True)
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
        """Return the search words: the names of the prompt's objects, or its text."""
        if self.options.search == "lemma" and prompt.scene is not None and prompt.scene.objects:
            return " ".join(dict.fromkeys(cls.name for cls in prompt.scene.classes))
        return prompt.text
