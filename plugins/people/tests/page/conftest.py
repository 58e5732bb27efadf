"""Runs to vote on, and a page over them."""

from __future__ import annotations

import colorsys
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from t2i_core.api import Generated, GeneratorInfo, Prompt, PromptSourceInfo
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.io.rater_rules import Rules
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_people.page.app import make_app
from t2i_people.page.form_choice import show_people
from t2i_people.page.forms import compare_models
from t2i_people.page.guard import Access
from t2i_people.page.study import VotingStudy
from t2i_people.page.study_setup import StudyRequest, open_voting_study
from t2i_web_support.connections import Limits
from t2i_web_support.guard import Guard
from t2i_web_support.server import listen, make_server

MakeRun = Callable[..., Path]

PROMPTS = {"p1": "a red dog", "p2": "two blue cars", "p3": "an owl at night", "p4": "seven chairs"}


class Painter:
    """Paints a ring whose colour says the model and whose place says prompt and seed."""

    def __init__(self, hue: float, size: int) -> None:
        self.hue, self.size = hue, size

    def generate(self, requests: Any) -> Iterator[tuple[Any, Generated]]:
        for request in requests:
            rng = np.random.default_rng([request.noise_seed, zlib.crc32(request.prompt.text.encode())])
            x, y = rng.uniform(0.3, 0.7, 2) * self.size
            rows, columns = np.mgrid[: self.size, : self.size]
            far = np.hypot(rows - y, columns - x) / self.size
            colour = np.array(colorsys.hsv_to_rgb(self.hue, 0.7, 0.9)) * 255
            pixels = np.where((np.abs(far - 0.2) < 0.06)[..., None], colour, 235 - 60 * far[..., None])
            yield request, Generated(pixels.astype(np.uint8))


def write_run(
    folder: Path,
    models: Sequence[str] = ("apple", "pear"),
    prompts: Mapping[str, str] = PROMPTS,
    seeds: Sequence[int] = (0, 1),
    size: int = 48,
    hue: float = 0.0,
    metrics: Sequence[Any] = (),
) -> Path:
    """Have core write a run of images: each model's are of one hue."""
    source = PromptSourceInfo(
        name="listed",
        summary="Listed prompts.",
        prompts=lambda setup: (Prompt(id=id, text=text) for id, text in prompts.items()),
    )
    requests = []
    for number, label in enumerate(models):
        shade = (hue + number / max(len(models), 1)) % 1
        info = GeneratorInfo(
            name=f"painter-{shade:.2f}-{size}",
            summary="Rings.",
            create=lambda setup, shade=shade: Painter(shade, size),
        )
        requests.append(ModelRequest(info, label))
    request = Request(
        metrics=tuple(metrics), models=tuple(requests), prompts=("listed",), seeds=tuple(seeds), out=folder
    )
    assert run_plan(make_plan(request, StaticResolver(source, TEST_JUDGE))).failed is None
    return folder


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two models, four prompts and two seeds that no test changes."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        return write_run(folder / "run")


@pytest.fixture
def make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """Make runs in the test's folder."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def make(name: str = "run", **how: Any) -> Path:
        return write_run(tmp_path / name, **how)

    return make


HOSTILE = {
    "p1": "<script>document.title = 'stolen'</script><img src=x onerror=\"document.title='stolen'\">",
    "p2": "{{ 7 * 7 }} {% raw %} \u202eright to left\u202c '\" & -- </p>",
    "p3": "two\nlines and a bell \x07",
    "p4": "word" * 300,
}
"""Prompts that would do harm if they were anything but text."""


class Voter:
    """One who votes with a browser that runs no scripts."""

    def __init__(self, app: Any, name: str = "Ann", base: str = "http://127.0.0.1:8765") -> None:
        self.client = TestClient(app, base_url=base, follow_redirects=True)
        self.look()
        self.page = self.client.post("/join", data={**self.form("/join"), "name": name})

    def look(self) -> str:
        """Load the page anew."""
        self.page = self.client.get("/")
        return self.page.text

    def form(self, action: str = "/vote") -> dict[str, str]:
        return self.fields(self.page.text, action)

    def vote(self, verdict: str = "left", **more: str) -> str:
        self.page = self.client.post("/vote", data={**self.form(), "preference": verdict, **more})
        return self.page.text

    def undo(self) -> str:
        self.page = self.client.post("/undo", data=self.form("/undo"))
        return self.page.text

    @staticmethod
    def fields(page: str, action: str) -> dict[str, str]:
        """The hidden fields of a form."""
        form = re.search(rf'<form method="post" action="{action}".*?</form>', page, re.DOTALL)
        assert form, f"no form for {action}"
        return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form[0]))

    @property
    def saved(self) -> str:
        return re.search(r'id="saved"[^>]*>([^<]*)<', self.page.text)[1]


@pytest.fixture
def open_study(shared_run: Path, tmp_path: Path) -> Iterator[Callable[..., tuple[VotingStudy, Guard]]]:
    """Open studies over a run, and their page."""
    with ExitStack() as stack:

        def open_(
            run: Path | None = None, access: Access | None = None, rules: Rules | None = None, **asked: Any
        ) -> tuple[VotingStudy, Guard]:
            grid, known = asked.pop("grid", 1), asked.pop("known", None)
            groups, question = asked.pop("groups", None), asked.pop("question", "Which?")
            if "form" not in asked:
                form = show_people(groups, grid) if groups else compare_models(question, grid)
                asked["form"] = replace(form, known=known)
            request = StudyRequest(
                runs=[run or shared_run],
                votes=asked.pop("votes", tmp_path / "votes.sqlite"),
                rules=rules or Rules(fastest=0),
                **asked,
            )
            study = stack.enter_context(open_voting_study(request, print))
            return study, make_app(study, access or Access("secret"), print)

        yield open_


@pytest.fixture
def voter() -> type[Voter]:
    """One who votes, once there is a page."""
    return Voter


@pytest.fixture
def hostile() -> dict[str, str]:
    """Prompts that would do harm."""
    return HOSTILE


@pytest.fixture
def served(open_study: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Serve studies on free ports."""
    with ExitStack() as stack:

        def serve(limits: Limits | None = None, **asked: Any) -> tuple[Any, str]:
            study, app = open_study(**asked)
            at = stack.enter_context(listen("127.0.0.1", 0))
            server = make_server(app, limits)
            thread = threading.Thread(target=server.run, args=([at],))
            thread.start()

            def end() -> None:
                server.should_exit = True
                thread.join()

            stack.callback(end)
            return study, f"http://127.0.0.1:{at.getsockname()[1]}/"

        yield serve
