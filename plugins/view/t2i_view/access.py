"""Access to the page: for this machine alone, or for everyone who has the token."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from t2i_web_support.guard import is_local_host, refuse_host

MONTH = 30 * 24 * 3600


@dataclass(frozen=True)
class ViewAccess:
    """Rules for access to the page.

    Attributes:
        token: The token that the page demands. If None, it demands none and answers this machine's names only.
    """

    token: str | None = None

    @property
    def cookie(self) -> str:
        """Name of the cookie that holds the token: browsers share cookies between the ports of a host."""
        return f"t2i-view-{hashlib.sha256((self.token or '').encode()).hexdigest()[:8]}"

    def refuse(self, method: str, headers: Headers) -> Response | None:
        """Return the answer to a request that would write, or for another host; None for others."""
        if self.token is None and not is_local_host(headers.get("host", "")):
            return refuse_host()
        if method not in ("GET", "HEAD"):
            return PlainTextResponse("This page only reads.", 405, {"allow": "GET, HEAD"})
        return None

    def admits(self, cookies: str) -> bool:
        """Return whether a request may see the runs.

        Args:
            cookies: Its header `cookie`.
        """
        if self.token is None:
            return True
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and self.is_token(found.value)

    def is_token(self, given: str) -> bool:
        """Return whether a text is the token."""
        return self.token is not None and secrets.compare_digest(given.encode(), self.token.encode())
