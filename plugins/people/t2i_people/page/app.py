"""Web application of the voting page. No part of a request is ever used as a file name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from t2i_core.api.errors import T2IError
from t2i_core.files.image_file import DamagedImage
from t2i_core.io.rater_rules import SEVERAL
from t2i_web_support.guard import Guard
from t2i_web_support.static_files import make_static_routes, read_static_files

from .annotator_progress import AnnotatorProgress
from .guard import Access
from .pages import fault, form_of, render
from .records import Annotator
from .sign_in import Entrance, uninvited
from .study import VotingStudy

LONGEST_FORM = 16 << 10

KEPT = {"cache-control": "private, max-age=86400, immutable"}
"""Headers of images, which browsers keep."""

NOTES = {
    "kept": "You had already answered this task; your first answer stays. Use Undo to take it back.",
    "stale": "That page was out of date; nothing was saved from it.",
}


def make_app(study: VotingStudy, access: Access, say: Callable[[str], None]) -> Guard:
    """Return the web application of a study.

    Args:
        study: The study.
        access: Who may vote.
        say: Shows a message to the person who runs the server.
    """
    entrance = Entrance(study.store, access)
    page = _Page(study, access, entrance, say)
    routes = [*page.routes, *entrance.routes, *make_static_routes(read_static_files(__package__))]
    limit = Middleware(RequestBodyLimitMiddleware, max_body_size=LONGEST_FORM)
    errors = {404: page.not_found, 405: page.not_found, T2IError: page.unable}
    return Guard(Starlette(routes=routes, middleware=[limit], exception_handlers=errors), access)


class _Page:
    """Handlers that show tasks and save answers. All access to the store runs in threads."""

    def __init__(self, study: VotingStudy, access: Access, entrance: Entrance, say: Callable[[str], None]) -> None:
        self._study, self._access, self._entrance, self._say = study, access, entrance, say

    @property
    def routes(self) -> list[Route]:
        """Routes of tasks, answers and images."""
        return [
            Route("/", self.home),
            Route("/vote", self.vote, methods=["POST"]),
            Route("/undo", self.undo, methods=["POST"]),
            Route("/image/{id}", self.image),
            Route("/instructions", self.instructions),
            Route("/instructions/{id}", self.instruction_image),
        ]

    def home(self, request: Request) -> Response:
        """Return the page with the annotator's current task."""
        annotator = self._entrance.who(request)
        if annotator is None:
            return self._entrance.joining("") if self._access.invites("") else uninvited()
        if (
            self._study.instructions
            and "read" not in request.query_params
            and not self._study.has_begun(annotator)
        ):
            return self._show_instructions(annotator, first=True)
        standing, task = self._study.current(annotator)
        known = {
            **self._describe(annotator, standing),
            "note": NOTES.get(request.query_params.get("note", ""), ""),
            "told": self._training_feedback(standing),
        }
        if task is None:
            return render("end.html", **known)
        questions = self._study.questions_of(task)
        alone = len(questions) == 1 and not questions[0].several
        name = "question.html" if alone else "questions.html"
        text = self._study.prompts[task.prompt][0] if self._study.form.show_prompt else ""
        pictures, title = self._study.shelf, self._study.form.title
        return render(name, **known, task=task, text=text, questions=questions, pictures=pictures, title=title)

    def _describe(self, annotator: Annotator, standing: AnnotatorProgress) -> dict[str, object]:
        """Return what every page of a session needs."""
        return {
            "annotator": annotator,
            "form": self._access.form_token(annotator.token),
            "standing": standing,
            "rules": self._study.rules,
            "guided": self._study.instructions is not None,
            "note": "",
            "told": None,
        }

    def instructions(self, request: Request) -> Response:
        """Return the instructions."""
        annotator = self._entrance.who(request)
        if annotator is None or self._study.instructions is None:
            return fault(404, "There is nothing here.")
        return self._show_instructions(annotator, first=not self._study.has_begun(annotator))

    def _show_instructions(self, annotator: Annotator, first: bool) -> Response:
        assert self._study.instructions is not None
        html = Markup(self._study.instructions.html)
        known = self._describe(annotator, self._study.standing(annotator))
        return render("instructions.html", **known, instructions=html, first=first)

    def instruction_image(self, request: Request) -> Response:
        """Return an image of the instructions, by its opaque id."""
        instructions = self._study.instructions
        data = instructions and instructions.images.get(request.path_params["id"])
        if not data or self._entrance.who(request) is None:
            return fault(404, "There is nothing here.")
        return Response(data, media_type="image/png", headers=KEPT)

    def _training_feedback(self, standing: AnnotatorProgress) -> dict[str, object] | None:
        """Return the feedback on the last task, if it was a training task."""
        if standing.told is None:
            return None
        task, right = standing.told
        labels = []
        for question in (part for each in self._study.questions_of(task) for part in each.stored):
            values = (task.expected or {}).get(question.name, "").split(SEVERAL)
            if chosen := [choice.label for choice in question.choices if choice.value in values]:
                labels.append(" or ".join(chosen))
        text = self._study.prompts[task.prompt][0] if self._study.form.shows_prompt else ""
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
        return Response(data, media_type="image/png", headers=KEPT)

    async def unable(self, request: Request, error: Exception) -> Response:
        """Report that votes cannot be read or written."""
        self._say(str(error))
        return fault(
            503, "Nothing was saved: votes cannot be stored now. Please tell the person who runs this page."
        )

    async def not_found(self, request: Request, error: Exception) -> Response:
        """Return the error page for an unknown address, or a method that it does not support."""
        return fault(getattr(error, "status_code", 404), "There is nothing here.")
