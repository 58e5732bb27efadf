"""Sign-in of annotators: joining, personal links and leaving."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from t2i_core.api.text import escape_control_characters

from .guard import Access
from .pages import fault, form_of, render
from .records import Annotator
from .store import VotingStore

LONGEST_NAME = 60
MONTH = 30 * 24 * 3600

TAKEN = (
    "This name is taken. If it is yours, open your personal link (the person who runs this page can print it); "
    "otherwise choose another name."
)


def name_of(text: str) -> str:
    """Return an annotator's name on one line, without characters that tables cannot store."""
    return escape_control_characters(" ".join(text.split()))


def uninvited() -> Response:
    """Return the page for visitors without an invitation."""
    return fault(403, "Please open the link that you were given.")


class Entrance:
    """Handlers that sign annotators in and recognise them. All access to the store runs in threads."""

    def __init__(self, store: VotingStore, access: Access) -> None:
        self._store, self._access = store, access
        # browsers share cookies between the ports of a host
        self._cookie = f"t2i-arena-{access.form_token('cookie')[:8]}"

    @property
    def routes(self) -> list[Route]:
        """Routes of joining, personal links and leaving."""
        return [
            Route("/join", self.join, methods=["POST"]),
            Route("/join/{token}", self.invited),
            Route("/as/{token}", self.link),
            Route("/leave", self.leave, methods=["POST"]),
        ]

    def who(self, request: Request) -> Annotator | None:
        """Return the annotator who is signed in in this browser, or None."""
        return self._store.annotator(request.cookies.get(self._cookie, ""))

    def _enter(self, annotator: Annotator) -> Response:
        response = RedirectResponse("/", 303)
        secure = bool(self._access.url and self._access.url.startswith("https:"))
        response.set_cookie(
            self._cookie, annotator.token, max_age=MONTH, httponly=True, samesite="lax", secure=secure
        )
        return response

    def joining(self, token: str, wrong: str = "", status: int = 200) -> Response:
        """Return the page that asks for a name.

        Args:
            token: Token of the invitation.
            wrong: The error in the name that was entered before; None at the first visit.
            status: HTTP status.
        """
        known = {"form": self._access.form_token(""), "newcomer": secrets.token_urlsafe(24), "invitation": token}
        return render("join.html", status, **known, fault=wrong, longest=LONGEST_NAME)

    def invited(self, request: Request) -> Response:
        """Open the invitation link."""
        token = request.path_params["token"]
        return self.joining(token) if self._access.invites(token) else uninvited()

    async def join(self, request: Request) -> Response:
        """Sign in a newcomer with the name from the form."""
        given = await form_of(request)
        return await run_in_threadpool(self._join, given)

    def _join(self, given: Mapping[str, str]) -> Response:
        token, name = given.get("invitation", ""), name_of(given.get("name", ""))
        if not self._access.invites(token) or not self._access.is_own_form("", given.get("form", "")):
            return uninvited()
        if not name or len(name) > LONGEST_NAME:
            return self.joining(token, f"Please give a name of 1 to {LONGEST_NAME} characters.", 400)
        newcomer = given.get("newcomer") or secrets.token_urlsafe(24)
        link = self._access.newcomer_token(name, newcomer)
        annotator = self._store.add_annotator(name, link)
        if not secrets.compare_digest(annotator.token, link):
            return self.joining(token, TAKEN, 409)
        return self._enter(annotator)

    def link(self, request: Request) -> Response:
        """Sign in an annotator by their personal link."""
        annotator = self._store.annotator(request.path_params["token"])
        return uninvited() if annotator is None else self._enter(annotator)

    async def leave(self, request: Request) -> Response:
        """Sign the annotator out of this browser."""
        given = await form_of(request)
        response: Response = RedirectResponse("/", 303)
        annotator = await run_in_threadpool(self.who, request)
        if annotator is not None and self._access.is_own_form(annotator.token, given.get("form", "")):
            response.delete_cookie(self._cookie, httponly=True, samesite="lax")
        return response
