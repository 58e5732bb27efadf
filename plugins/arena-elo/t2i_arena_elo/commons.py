"""Client of Wikimedia Commons: search and download, with retries when the server is busy."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

BUSY = (429, 500, 502, 503, 504)
"""HTTP status codes after which a request is retried."""
LARGEST = 50_000_000
"""Maximum size of a file in bytes."""
_LONGEST_WAIT = 120.0

ContentT = TypeVar("ContentT")


class Unanswered(Exception):
    """Raised if the server does not answer, or its answer cannot be used."""


@dataclass(frozen=True)
class Hit:
    """A file that the search found.

    Attributes:
        title: Title on Commons.
        url: Address of the file, or of a version scaled down to the requested width.
        page: Address of its description page.
        sha1: SHA-1 of the original file.
        licence: Licence as the page states it.
        author: Author as the page states it.
    """

    title: str
    url: str
    page: str
    sha1: str
    licence: str
    author: str


@dataclass(frozen=True)
class Commons:
    """Client of a server with the MediaWiki API.

    Attributes:
        server: Address of the API.
        contact: Contact address, which the operators require in the User-Agent header.
        timeout: Seconds to wait for a response.
        retries: Number of retries after no response, or a response that asks to wait.
        sleep: Function that waits for a number of seconds.
    """

    server: str
    contact: str
    timeout: float
    retries: int
    sleep: Callable[[float], None] = time.sleep

    def search(self, words: str, place: int, width: int) -> Hit | None:
        """Return one result of a search among pictures.

        Args:
            words: The search words.
            place: Index of the result, from 0.
            width: Width in pixels to which wider pictures are scaled down.

        Returns:
            The file, or None if there are not that many results.

        Raises:
            Unanswered: If the server does not answer as expected.
        """
        parameters = {
            "action": "query", "format": "json", "formatversion": 2, "maxlag": 5,
            "generator": "search", "gsrnamespace": 6, "gsrsearch": f"filetype:bitmap {words}",
            "gsrlimit": 1, "gsroffset": place,
            "prop": "imageinfo", "iiprop": "url|sha1|extmetadata", "iiurlwidth": width,
            "iiextmetadatafilter": "LicenseShortName|Artist",
        }  # fmt: skip
        answer = self._query(parameters)
        try:
            pages = answer.get("query", {}).get("pages", [])
            return _hit(pages[0]) if pages else None
        except KeyError as error:
            raise Unanswered(f"{self.server}: the search result has no field {error}") from error
        except (AttributeError, IndexError, TypeError) as error:
            raise Unanswered(f"{self.server}: the answer has an unexpected form ({error})") from error

    def fetch(self, url: str) -> bytes:
        """Return the content of a file.

        Raises:
            Unanswered: If the address is not HTTP(S), or the file cannot be downloaded.
        """
        if urlsplit(url).scheme not in ("http", "https"):
            raise Unanswered(f"{url} is not an http(s) address")
        return self._get(url, lambda data: data)

    def _query(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return self._get(f"{self.server}?{urlencode(parameters)}", _parse_answer)

    def _get(self, url: str, read: Callable[[bytes], ContentT]) -> ContentT:
        """Request an address. While the server is busy or unreachable, retry with exponential backoff."""
        headers = {"User-Agent": f"t2i-arena-elo/0.1 ({self.contact})"}
        for left in range(self.retries, -1, -1):
            wait = 2.0 ** (self.retries - left)
            try:
                with urlopen(Request(url, headers=headers), timeout=self.timeout) as answer:
                    data = answer.read(LARGEST + 1)
                    length = answer.headers.get("Content-Length", "")
                    promised = int(length) if length.isdecimal() else 0
                if len(data) < min(promised, LARGEST):
                    raise http.client.IncompleteRead(data, promised - len(data))
                if len(data) > LARGEST:
                    raise Unanswered(f"{url} is larger than {LARGEST} bytes")
                return read(data)
            except HTTPError as error:
                cause: Exception = error
                if error.code not in BUSY:
                    raise Unanswered(f"{url}: {error}") from error
                after = error.headers.get("Retry-After", "")
                wait = float(after) if after.isdigit() else wait
            except (URLError, http.client.HTTPException, OSError, _Busy) as error:
                cause = error
            if left:
                self.sleep(min(wait, _LONGEST_WAIT))
        raise Unanswered(f"{urlsplit(url).hostname} gave no answer in {self.retries + 1} tries ({cause})")


class _Busy(Exception):
    """Raised if the API asks to retry later."""


def _parse_answer(data: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unanswered(f"the server's answer is not JSON: {data[:80]!r}") from error
    if not isinstance(answer, dict):
        raise Unanswered(f"the server's answer is not a JSON object: {data[:80]!r}")
    if "error" in answer:
        reported = answer["error"]
        message = reported.get("info", "") if isinstance(reported, dict) else str(reported)
        if isinstance(reported, dict) and reported.get("code") in ("maxlag", "ratelimited", "readonly"):
            raise _Busy(message)
        raise Unanswered(f"the server returned an error: {message}")
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
