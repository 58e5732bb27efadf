"""Web application of the page. It answers GET alone, and no part of a request is ever used as a file name."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route
from t2i_core.api.errors import BadFolder
from t2i_core.results.command_line import write_command_line
from t2i_core.results.pair_verdict import LEVEL
from t2i_core.results.run import Run, load_run
from t2i_core.results.run_list import UnreadableRun
from t2i_core.results.run_progress import find_new_image
from t2i_core.results.thumbnails import Thumbnails
from t2i_web_support.guard import Guard
from t2i_web_support.static_files import make_static_routes, read_static_files
from t2i_web_support.templates import read_style

from .access import MONTH, ViewAccess
from .comparison import (
    MANIFEST,
    MOST_METRICS,
    MOST_MODELS,
    ModelOfRun,
    compare_with_base,
    list_files,
    list_metrics,
    list_models,
    write_compare_words,
)
from .listing import MOST_SCORES, STATUSES, RunQuery, answer, find_listed, make_id
from .made_pages import MadePages
from .pages import MADE_POLICY, POLICY, render, show_fault
from .run_state import read_state

PATIENCE = 1.0
"""Seconds to wait for a report before a page says that it is being made."""

SIDE = 256
"""Largest side of new pictures, in pixels."""

MOST_VERDICTS = 20
"""Verdicts that the page of a run shows."""

MOST_PICTURES = 1000
"""New pictures that browsers may ask for: those that pages showed last. A run may be far ahead of its page."""

KEPT = {"cache-control": "private, max-age=86400, immutable"}
"""Headers of pictures, which browsers keep."""

NOTHING = "The folder has no such run. It may have been removed."


def make_app(folder: Path, access: ViewAccess, pages: MadePages) -> Guard:
    """Return the web application over the runs of a folder.

    Args:
        folder: The folder, absolute; it need not exist yet.
        access: Who may see it.
        pages: Makes reports and comparisons.
    """
    view = _View(folder, access, pages)
    static = {"style.css": read_style().encode(), **read_static_files(__package__)}
    icon = Route("/favicon.ico", lambda request: RedirectResponse("/icon.svg"))  # reports name none
    routes = [*view.routes, icon, *make_static_routes(static)]
    return Guard(Starlette(routes=routes, exception_handlers={404: view.not_found}), access)


class _View:
    """Handlers of all pages. Each reads what it shows; none writes."""

    def __init__(self, folder: Path, access: ViewAccess, pages: MadePages) -> None:
        self._folder, self._access, self._pages = folder, access, pages
        self._pictures: deque[tuple[str, str]] = deque(maxlen=MOST_PICTURES)

    @property
    def routes(self) -> list[Route]:
        """Routes of all pages."""
        found = {
            "/run/{id}": self.run,
            "/run/{id}/report": self.report,
            "/run/{id}/picture/{digest}": self.picture,
            "/compare": self.compare,
            "/compare/page": self.compare_page,
        }
        return [Route("/", self.home), *(Route(path, self._admitted(handler)) for path, handler in found.items())]

    def _admitted(self, handler: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """Return a handler that only answers those who have the token."""

        def answer_admitted(request: Request) -> Response:
            if not self._access.admits(request.headers.get("cookie", "")):
                return show_fault(
                    request, 403, "No access", "Open the link that t2i view printed: it contains the token."
                )
            return handler(request)

        return answer_admitted

    def home(self, request: Request) -> Response:
        """Return the list; to a visitor with the token in the address, a cookie with it."""
        given = request.query_params.get("token")
        if given is not None and self._access.is_token(given):
            response = RedirectResponse("/", 303)  # the token does not stay in the browser's address
            response.set_cookie(self._access.cookie, given, max_age=MONTH, httponly=True, samesite="lax")
            return response
        return self._admitted(self._list)(request)

    def _list(self, request: Request) -> Response:
        query = RunQuery.parse(request.query_params)
        found = answer(self._folder, query)
        if found.total == 1 and (only := found.rows) and only[0].run.folder == self._folder:
            return RedirectResponse(f"/run/{only[0].id}", 303)  # a run was named, not a folder that holds runs
        return render(
            request,
            "list.html",
            folder=self._folder,
            query=query,
            found=found,
            statuses=STATUSES,
            most_scores=MOST_SCORES,
            every=max(3, found.total // 100),  # seconds; a long list takes longer to read
        )

    def run(self, request: Request) -> Response:
        """Return the page of a run."""
        run = self._load(request.path_params["id"])
        if isinstance(run, UnreadableRun):
            return show_fault(request, 200, run.folder.name, f"unreadable: {run.reason}")
        if run is None:
            return self.not_found(request)
        id, state = make_id(run.folder), read_state(run)
        self._pictures.extend((id, image.digest) for image in state.images)
        known = {
            "manifest": run.manifest,
            "command": write_command_line(run.manifest.command),
            "signatures": list(dict.fromkeys(each.signature for each in run.results if each.signature)),
            "notes": list(dict.fromkeys(note for each in run.results for note in each.notes)),
            "most_verdicts": MOST_VERDICTS,
        }
        return render(request, "run.html", id=id, state=state, **known)

    def report(self, request: Request) -> Response:
        """Return the report of a run that has ended."""
        run = self._load(request.path_params["id"])
        if not isinstance(run, Run):
            return self.not_found(request)
        title = f"Report of {run.folder.name}"
        return self._show_made(request, title, ["report", str(run.folder)], [run.folder / MANIFEST])

    def picture(self, request: Request) -> Response:
        """Return a new picture that the page of a run under way has shown."""
        id, digest = request.path_params["id"], request.path_params["digest"]
        if (id, digest) not in self._pictures.copy():  # other threads add pictures meanwhile
            return self.not_found(request)
        text = Thumbnails([find_new_image(digest)], SIDE).encode(0)
        if not text:
            return self.not_found(request)
        return Response(base64.b64decode(text), media_type="image/webp", headers=KEPT)

    def compare(self, request: Request) -> Response:
        """Return the models of several runs beside each other."""
        ids = list(dict.fromkeys(request.query_params.getlist("run")))
        runs = [run for id in ids[:MOST_MODELS] if isinstance(run := self._load(id), Run)]
        models = list_models(runs)
        if len(models) < 2:
            return show_fault(
                request, 400, "Nothing to compare", "Choose two runs, or a run of two models, in the list."
            )
        shown = models[:MOST_MODELS]
        base = next((each for each in shown if each.id == request.query_params.get("base")), shown[0])
        metrics = list_metrics(shown, base)
        pairs = list(
            compare_with_base(base, [each for each in shown if each != base], self._pages, patience=PATIENCE)
        )
        return render(
            request,
            "compare.html",
            runs=runs,
            ids=[make_id(run.folder) for run in runs],
            models=shown,
            left_out=len(models) - len(shown),
            base=base,
            metrics=metrics[:MOST_METRICS],
            metrics_left_out=max(len(metrics) - MOST_METRICS, 0),
            pairs=pairs,
            unadjusted=sum(
                row.verdict.comparison is not None
                for pair in pairs
                if not pair.is_adjusted
                for row in pair.rows or ()
            ),
            level=LEVEL,
            is_pending=any(pair.rows is None for pair in pairs),
        )

    def compare_page(self, request: Request) -> Response:
        """Return the page of t2i compare about two models."""
        a, b = (self._find_model(request.query_params.get(side, "")) for side in "ab")
        if a is None or b is None:
            return self.not_found(request)
        title = f"{a.name} and {b.name}"
        return self._show_made(request, title, write_compare_words(a, b), list_files(a, b))

    def _find_model(self, id: str) -> ModelOfRun | None:
        run = self._load(id.partition(":")[0])
        models = list_models([run]) if isinstance(run, Run) else []
        return next((each for each in models if each.id == id), None)

    def _load(self, id: str) -> Run | UnreadableRun | None:
        """Return a run of the folder by its name in addresses; None if the folder has no such run."""
        listed = find_listed(self._folder, id)
        if listed is None or isinstance(listed, UnreadableRun):
            return listed
        try:
            return load_run(listed.folder)
        except BadFolder as error:
            return UnreadableRun(listed.folder, str(error))

    def _show_made(self, request: Request, title: str, words: Sequence[str], files: Sequence[Path]) -> Response:
        """Return a page that a command makes, or one that says that it is being made."""
        made = self._pages.find(words, files, PATIENCE)
        if made is None:
            return render(request, "waiting.html", 202, title=title)
        if made.file is None:
            return show_fault(request, 500, title, made.fault)
        return FileResponse(made.file, media_type="text/html; charset=utf-8", headers={POLICY: MADE_POLICY})

    def not_found(self, request: Request, error: Exception | None = None) -> Response:
        """Return the page for an unknown address."""
        return show_fault(request, 404, "Not found", NOTHING)
