"""Wikimedia Commons: the search, and files, asked politely."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

BUSY = (429, 500, 502, 503, 504)
"""Answers after which the same may be asked again."""
LARGEST = 50_000_000
"""No file is read beyond so many bytes."""
_LONGEST_WAIT = 120.0


class Unanswered(Exception):
    """The server gave no answer, or none that can be used; in words."""


@dataclass(frozen=True)
class Hit:
    """A file that the search found.

    url:     of the file itself, or of a picture of it that is as wide as asked
    sha1:    of the file itself, as Commons has it
    licence, author: as its page says
    """

    title: str
    url: str
    page: str
    sha1: str
    licence: str
    author: str


@dataclass(frozen=True)
class Commons:
    """A server that speaks MediaWiki's API.

    contact: for its operators, who ask for one in the name of every program
    timeout: of one answer, in seconds
    retries: after no answer, or one that says to wait
    sleep:   waits so many seconds
    """

    server: str
    contact: str
    timeout: float
    retries: int
    sleep: Callable[[float], None] = time.sleep

    def search(self, words: str, place: int, width: int) -> Hit | None:
        """Return the file at a place (from 0) of what a search among pictures finds; None where there is none.

        Raises Unanswered.
        """
        asked = {
            "action": "query", "format": "json", "formatversion": 2, "maxlag": 5,
            "generator": "search", "gsrnamespace": 6, "gsrsearch": f"filetype:bitmap {words}",
            "gsrlimit": 1, "gsroffset": place,
            "prop": "imageinfo", "iiprop": "url|sha1|extmetadata", "iiurlwidth": width,
            "iiextmetadatafilter": "LicenseShortName|Artist",
        }  # fmt: skip
        answer = self._ask(asked)
        try:
            pages = answer.get("query", {}).get("pages", [])
            return _hit(pages[0]) if pages else None
        except KeyError as error:
            raise Unanswered(f"{self.server} gave a file without {error}") from error
        except (AttributeError, IndexError, TypeError) as error:
            raise Unanswered(f"{self.server} gave an answer of another form ({error})") from error

    def fetch(self, url: str) -> bytes:
        """Return a file. Raises Unanswered."""
        if urlsplit(url).scheme not in ("http", "https"):
            raise Unanswered(f"{url} is no address of the web")
        return self._get(url, lambda data: data)

    def _ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self._get(f"{self.server}?{urlencode(asked)}", _answer)

    def _get(self, url: str, read: Callable[[bytes], Any]) -> Any:
        """Ask, and where the server is busy or gone, again: each time twice as long later, or when it says."""
        headers = {"User-Agent": f"t2i-arena-elo/0.1 ({self.contact})"}
        for left in range(self.retries, -1, -1):
            wait = 2.0 ** (self.retries - left)
            try:
                with urlopen(Request(url, headers=headers), timeout=self.timeout) as answer:
                    data = answer.read(LARGEST + 1)
                    said_length = answer.headers.get("Content-Length", "")
                    promised = int(said_length) if said_length.isdecimal() else 0
                if len(data) < min(promised, LARGEST):
                    raise http.client.IncompleteRead(data, promised - len(data))
                if len(data) > LARGEST:
                    raise Unanswered(f"{url} holds more than {LARGEST} bytes")
                return read(data)
            except HTTPError as error:
                said: Exception = error
                if error.code not in BUSY:
                    raise Unanswered(f"{url}: {error}") from error
                after = error.headers.get("Retry-After", "")
                wait = float(after) if after.isdigit() else wait
            except (URLError, http.client.HTTPException, OSError, _Busy) as error:
                said = error
            if left:
                self.sleep(min(wait, _LONGEST_WAIT))
        raise Unanswered(f"{urlsplit(url).hostname} gave no answer in {self.retries + 1} tries ({said})")


class _Busy(Exception):
    """The API says to come again."""


def _answer(data: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unanswered(f"the server's answer is not JSON: {data[:80]!r}") from error
    if not isinstance(answer, dict):
        raise Unanswered(f"the server's answer is no object: {data[:80]!r}")
    if "error" in answer:
        error = answer["error"]
        said = error.get("info", "") if isinstance(error, dict) else str(error)
        if isinstance(error, dict) and error.get("code") in ("maxlag", "ratelimited", "readonly"):
            raise _Busy(said)
        raise Unanswered(f"the server refuses: {said}")
    return answer


def _hit(page: dict[str, Any]) -> Hit:
    info = page["imageinfo"][0]
    more = {name: str(cell.get("value", "")) for name, cell in info.get("extmetadata", {}).items()}
    return Hit(
        title=page["title"],
        url=str(info.get("thumburl") or info["url"]),
        page=info.get("descriptionurl", ""),
        sha1=info.get("sha1", ""),
        licence=more.get("LicenseShortName", ""),
        author=more.get("Artist", ""),
    )
