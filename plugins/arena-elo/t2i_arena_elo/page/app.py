"""The page: what is sent for which request. Nothing of a request ever names a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from urllib.parse import parse_qsl

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from t2i_core.errors import T2IError
from t2i_core.images import DamagedImage
from t2i_core.texts import visible

from .guard import Access, Guard
from .questions import VERDICT
from .records import Annotator
from .standing import Standing
from .study import Study

LONGEST_FORM = 16 << 10
LONGEST_NAME = 60
MONTH = 30 * 24 * 3600

NOTES = {
    "kept": "You had answered that one before; your first answer stays. Undo takes it back.",
    "stale": "That page was out of date: nothing was saved from it.",
}


def _plain(text: str) -> str:
    """A text of others: nothing in it steers how it is shown but the ends of its lines."""
    return "\n".join(visible(line) for line in text.split("\n"))


_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader(__package__), autoescape=True, undefined=jinja2.StrictUndefined
)
_TEMPLATES.filters["plain"] = _plain


def make_app(
    study: Study, access: Access, prompts: Mapping[str, tuple[str, str]], say: Callable[[str], None]
) -> Guard:
    """Make the application of a study.

    prompts: text and subset by id
    say:     told what the server's owner must know
    """
    page = _Page(study, access, prompts, say)
    static = {f"/{file.name}": file.read_bytes() for file in (files(__package__) / "static").iterdir()}
    routes = [
        Route("/", page.home),
        Route("/join", page.join, methods=["POST"]),
        Route("/join/{token}", page.invited),
        Route("/as/{token}", page.link),
        Route("/vote", page.vote, methods=["POST"]),
        Route("/undo", page.undo, methods=["POST"]),
        Route("/leave", page.leave, methods=["POST"]),
        Route("/image/{id}", page.image),
        *(Route(name, _static(name, content)) for name, content in static.items()),
    ]
    limit = Middleware(RequestBodyLimitMiddleware, max_body_size=LONGEST_FORM)
    errors = {404: page.not_found, 405: page.not_found, T2IError: page.unable}
    return Guard(Starlette(routes=routes, middleware=[limit], exception_handlers=errors), access)


_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


def _static(name: str, content: bytes) -> Callable[[Request], Response]:
    def send(request: Request) -> Response:
        return Response(content, media_type=_TYPES[name.rpartition(".")[2]])

    return send


class _Page:
    """Answers requests. Those that look at the store run in threads."""

    def __init__(
        self, study: Study, access: Access, prompts: Mapping[str, tuple[str, str]], say: Callable[[str], None]
    ) -> None:
        self._study, self._access, self._prompts, self._say = study, access, prompts, say
        # browsers share cookies between the ports of a host
        self._cookie = f"t2i-arena-{access.form_token('cookie')[:8]}"

    # who ---------------------------------------------------------------------------------------------------------

    def _who(self, request: Request) -> Annotator | None:
        return self._study.store.annotator(request.cookies.get(self._cookie, ""))

    def _enter(self, annotator: Annotator) -> Response:
        response = RedirectResponse("/", 303)
        secure = bool(self._access.url and self._access.url.startswith("https:"))
        response.set_cookie(
            self._cookie, annotator.token, max_age=MONTH, httponly=True, samesite="lax", secure=secure
        )
        return response

    def _joining(self, token: str, fault: str = "", status: int = 200) -> Response:
        form = self._access.form_token("")
        return self._render("join.html", status, form=form, invitation=token, fault=fault, longest=LONGEST_NAME)

    def invited(self, request: Request) -> Response:
        """The link for newcomers."""
        token = request.path_params["token"]
        return self._joining(token) if self._access.invites(token) else self._uninvited()

    async def join(self, request: Request) -> Response:
        """A newcomer's name."""
        given = await _form(request)
        return await run_in_threadpool(self._join, given)

    def _join(self, given: Mapping[str, str]) -> Response:
        token, name = given.get("invitation", ""), " ".join(given.get("name", "").split())
        if not self._access.invites(token) or not self._access.is_own_form("", given.get("form", "")):
            return self._uninvited()
        if not name or len(name) > LONGEST_NAME:
            return self._joining(token, f"Please give a name of 1 to {LONGEST_NAME} characters.", 400)
        annotator, new = self._study.store.add_annotator(name)
        if not new and self._access.invitation is not None:
            return self._joining(token, "Somebody has this name. Take another, or use your own link.", 409)
        return self._enter(annotator)

    def link(self, request: Request) -> Response:
        """An annotator's own link."""
        annotator = self._study.store.annotator(request.path_params["token"])
        return self._uninvited() if annotator is None else self._enter(annotator)

    async def leave(self, request: Request) -> Response:
        """One who leaves a browser that others use too."""
        given = await _form(request)
        response: Response = RedirectResponse("/", 303)
        annotator = await run_in_threadpool(self._who, request)
        if annotator is not None and self._access.is_own_form(annotator.token, given.get("form", "")):
            response.delete_cookie(self._cookie, httponly=True, samesite="lax")
        return response

    # tasks -------------------------------------------------------------------------------------------------------

    def home(self, request: Request) -> Response:
        """What the annotator is to answer now."""
        annotator = self._who(request)
        if annotator is None:
            return self._joining("") if self._access.invites("") else self._uninvited()
        standing, task = self._study.current(annotator)
        rules = self._study.rules
        known = {
            "annotator": annotator,
            "form": self._access.form_token(annotator.token),
            "standing": standing,
            "rules": rules,
            "note": NOTES.get(request.query_params.get("note", ""), ""),
            "told": self._told(standing),
        }
        if task is None:
            return self._render("end.html", **known)
        name = "pair.html" if self._study.questions[0].name == VERDICT else "questions.html"
        text, _ = self._prompts[task.prompt]
        pictures = self._study.shelf
        return self._render(
            name, **known, task=task, text=text, questions=self._study.questions, pictures=pictures
        )

    def _told(self, standing: Standing) -> dict[str, object] | None:
        """What is said of a training task after it was answered."""
        if standing.told is None:
            return None
        task, right = standing.told
        labels = [
            choice.label
            for question in self._study.questions
            for choice in question.choices
            if (task.expected or {}).get(question.name) == choice.value
        ]
        text, _ = self._prompts[task.prompt]
        return {"right": right, "text": text, "answer": ", ".join(labels), "why": task.why}

    async def vote(self, request: Request) -> Response:
        """An answer. What follows says how many are saved: this one is on the disk by then."""
        return await self._posted(request, self._vote)

    def _vote(self, annotator: Annotator, given: Mapping[str, str]) -> Response:
        try:
            first = self._study.answer(annotator, given.get("task", ""), given)
        except LookupError:
            return RedirectResponse("/?note=stale", 303)
        except ValueError as error:
            return self._fault(400, f"Nothing was saved: {error}")
        return RedirectResponse("/" if first else "/?note=kept", 303)

    async def undo(self, request: Request) -> Response:
        """The last answer taken back."""
        return await self._posted(request, self._undo)

    def _undo(self, annotator: Annotator, given: Mapping[str, str]) -> Response:
        self._study.undo(annotator, given.get("task", ""))
        return RedirectResponse("/", 303)

    async def _posted(self, request: Request, act: Callable[[Annotator, Mapping[str, str]], Response]) -> Response:
        given = await _form(request)

        def work() -> Response:
            annotator = self._who(request)
            if annotator is None or not self._access.is_own_form(annotator.token, given.get("form", "")):
                return self._fault(403, "Nothing was saved: this form is not yours any more.")
            return act(annotator, given)

        return await run_in_threadpool(work)

    def image(self, request: Request) -> Response:
        """A picture, by its opaque id."""
        id = request.path_params["id"]
        if self._who(request) is None or id not in self._study.shelf:
            return self._fault(404, "There is nothing here.")
        try:
            data = self._study.shelf.png(id)
        except DamagedImage:
            return self._fault(410, "This image is there no more.")
        headers = {"cache-control": "private, max-age=86400, immutable"}
        return Response(data, media_type="image/png", headers=headers)

    # pages -------------------------------------------------------------------------------------------------------

    def _render(self, template: str, status: int = 200, **known: object) -> Response:
        return HTMLResponse(_TEMPLATES.get_template(template).render(known), status)

    def _fault(self, status: int, fault: str) -> Response:
        return self._render("fault.html", status, fault=fault)

    def _uninvited(self) -> Response:
        return self._fault(403, "Please open the link that you were given.")

    async def unable(self, request: Request, error: Exception) -> Response:
        """Answer where votes cannot be read or written."""
        self._say(str(error))
        return self._fault(503, "Nothing was saved: votes cannot be kept just now. Please tell who runs this.")

    async def not_found(self, request: Request, error: Exception) -> Response:
        """Answer for an address that is none, or a method that it does not have."""
        return self._fault(getattr(error, "status_code", 404), "There is nothing here.")


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; none where it cannot be one of ours."""
    body = await request.body()
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        return {}
