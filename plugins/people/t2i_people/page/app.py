"""Web application of the voting page. No part of a request is ever used as a file name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from t2i_core.api.errors import T2IError
from t2i_core.files.image_file import DamagedImage
from t2i_core.io.answers import PREFERENCE

from .annotator_progress import AnnotatorProgress
from .guard import Access, Guard
from .pages import fault, form_of, render, static_routes
from .records import Annotator
from .sign_in import Entrance, uninvited
from .study import VotingStudy

LONGEST_FORM = 16 << 10

NOTES = {
    "kept": "You had already answered this task; your first answer stays. Use Undo to take it back.",
    "stale": "That page was out of date; nothing was saved from it.",
}


def make_app(
    study: VotingStudy, access: Access, prompts: Mapping[str, tuple[str, str]], say: Callable[[str], None]
) -> Guard:
    """Return the web application of a study.

    Args:
        study: The study.
        access: Who may vote.
        prompts: Text and subset of each prompt, by id.
        say: Shows a message to the person who runs the server.
    """
    entrance = Entrance(study.store, access)
    page = _Page(study, access, entrance, prompts, say)
    routes = [*page.routes, *entrance.routes, *static_routes()]
    limit = Middleware(RequestBodyLimitMiddleware, max_body_size=LONGEST_FORM)
    errors = {404: page.not_found, 405: page.not_found, T2IError: page.unable}
    return Guard(Starlette(routes=routes, middleware=[limit], exception_handlers=errors), access)


class _Page:
    """Handlers that show tasks and save answers. All access to the store runs in threads."""

    def __init__(
        self,
        study: VotingStudy,
        access: Access,
        entrance: Entrance,
        prompts: Mapping[str, tuple[str, str]],
        say: Callable[[str], None],
    ) -> None:
        self._study, self._access, self._entrance, self._prompts, self._say = study, access, entrance, prompts, say

    @property
    def routes(self) -> list[Route]:
        """Routes of tasks, answers and images."""
        return [
            Route("/", self.home),
            Route("/vote", self.vote, methods=["POST"]),
            Route("/undo", self.undo, methods=["POST"]),
            Route("/image/{id}", self.image),
        ]

    def home(self, request: Request) -> Response:
        """Return the page with the annotator's current task."""
        annotator = self._entrance.who(request)
        if annotator is None:
            return self._entrance.joining("") if self._access.invites("") else uninvited()
        standing, task = self._study.current(annotator)
        rules = self._study.rules
        known = {
            "annotator": annotator,
            "form": self._access.form_token(annotator.token),
            "standing": standing,
            "rules": rules,
            "note": NOTES.get(request.query_params.get("note", ""), ""),
            "told": self._training_feedback(standing),
        }
        if task is None:
            return render("end.html", **known)
        name = "pair.html" if self._study.questions[0].name == PREFERENCE else "questions.html"
        text, _ = self._prompts[task.prompt]
        pictures = self._study.shelf
        return render(name, **known, task=task, text=text, questions=self._study.questions, pictures=pictures)

    def _training_feedback(self, standing: AnnotatorProgress) -> dict[str, object] | None:
        """Return the feedback on the last task, if it was a training task."""
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
        """Save an answer. It is on disk before the response is sent."""
        return await self._posted(request, self._vote)

    def _vote(self, annotator: Annotator, given: Mapping[str, str]) -> Response:
        try:
            first = self._study.answer(annotator, given.get("task", ""), given)
        except LookupError:
            return RedirectResponse("/?note=stale", 303)
        except ValueError as error:
            return fault(400, f"Nothing was saved: {error}")
        return RedirectResponse("/" if first else "/?note=kept", 303)

    async def undo(self, request: Request) -> Response:
        """Undo the last answer."""
        return await self._posted(request, self._undo)

    def _undo(self, annotator: Annotator, given: Mapping[str, str]) -> Response:
        self._study.undo(annotator, given.get("task", ""))
        return RedirectResponse("/", 303)

    async def _posted(self, request: Request, act: Callable[[Annotator, Mapping[str, str]], Response]) -> Response:
        given = await form_of(request)

        def work() -> Response:
            annotator = self._entrance.who(request)
            if annotator is None or not self._access.is_own_form(annotator.token, given.get("form", "")):
                return fault(403, "Nothing was saved: this form is no longer valid. Open the page again.")
            return act(annotator, given)

        return await run_in_threadpool(work)

    def image(self, request: Request) -> Response:
        """Return a picture, by its opaque id."""
        id = request.path_params["id"]
        if self._entrance.who(request) is None or id not in self._study.shelf:
            return fault(404, "There is nothing here.")
        try:
            data = self._study.shelf.png(id)
        except DamagedImage:
            return fault(410, "This image no longer exists.")
        headers = {"cache-control": "private, max-age=86400, immutable"}
        return Response(data, media_type="image/png", headers=headers)

    async def unable(self, request: Request, error: Exception) -> Response:
        """Report that votes cannot be read or written."""
        self._say(str(error))
        return fault(
            503, "Nothing was saved: votes cannot be stored now. Please tell the person who runs this page."
        )

    async def not_found(self, request: Request, error: Exception) -> Response:
        """Return the error page for an unknown address, or a method that it does not support."""
        return fault(getattr(error, "status_code", 404), "There is nothing here.")
