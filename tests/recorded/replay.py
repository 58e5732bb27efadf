"""Evaluations whose models, judges and prompts are recorded, or come from a recording.

The only module here that imports t2i: where the contracts move, this one file changes. Metrics, the engine, the
choice of judges and the plugin `folder` are the real ones in both cases; what a model draws, what a judge says and
what a prompt source yields is either kept beside (`recorder`) or read from the recording (`player`).
"""

from __future__ import annotations

import csv
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
from recorded.entries import Entry
from recorded.recording import IMAGES, Answers, pixel_digest, read_image, write_image
from t2i_core import ModelRequest, evaluate
from t2i_core.api import Failure, Features, Generated, Loading, ObjectClass, Prompt, Scene, SelfJudgingInfo
from t2i_core.api.observation import find_capability
from t2i_core.api.prompt_question import parse_questions
from t2i_core.api.resolver import JudgeChoice, installed_resolver
from t2i_core.engine.component import Component

Swap = Callable[[Component[Any]], Component[Any]]
REAL = ("folder",)
"""Generators without weights: they run as they are."""
GRID = "inception-v3"
"""The judge that `grid_features` stands in for: Inception's weights are not part of the project."""


def installed_metrics() -> list[str]:
    """Return the names of t2i's own metrics that are installed."""
    entries = entry_points(group="t2i.metrics")
    return sorted(e.name for e in entries if e.dist is not None and e.dist.name.startswith("t2i-"))


def run_entry(entry: Entry, swap: Swap, folder: Path) -> dict[str, Any]:
    """Evaluate an entry and return its results, its comparisons and its measured table, header first.

    `folder` takes the run. The cache is the one that T2I_CACHE_DIR names; paths of entries are relative to the
    working folder.
    """
    run = evaluate(
        entry.metrics,
        [ModelRequest(m) if isinstance(m, str) else ModelRequest(m["model"], m["label"], m["settings"])
         for m in entry.models],
        resolver=_Swapped(swap),
        out=folder,
        max_failed=1.0,
        **entry.arguments,
    )  # fmt: skip
    with (folder / "measurements.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.reader(file))
    printed = run.to_json()
    return {"results": printed["results"], "comparisons": printed["comparisons"], "table": table}


class _Swapped:
    """The installed plugins, some of their factories replaced."""

    def __init__(self, swap: Swap) -> None:
        self._installed, self._swap = installed_resolver(), swap

    def component(self, kind: Any, spec: str, options: Any) -> Component[Any]:
        return self._swap(self._installed.component(kind, spec, options))

    def choose_judge(self, *arguments: Any) -> JudgeChoice:
        choice = self._installed.choose_judge(*arguments)
        return replace(choice, judge=self._swap(choice.judge))

    def manifest(self) -> list[dict[str, Any]]:
        return self._installed.manifest()


def recorder(answers: Answers) -> Swap:
    """Return what has models, judges and prompt sources keep what they answer."""

    def swap(component: Component[Any]) -> Component[Any]:
        info, who = component.info, _who(component)
        if component.kind == "prompt_source":
            prompts = partial(_kept_prompts, info.prompts, who, answers)
            return replace(component, info=replace(info, prompts=prompts))
        if component.kind == "judge":
            if component.name == GRID:
                info = replace(info, create=lambda setup: _Grid(), loading=Loading())
            labels = info.labels(component.argument, component.options) if info.labels else None
            answers.put("labels", {"judge": who}, labels and [[c.name, c.synset] for c in labels])
            create = partial(_kept_judge, info.create, who, answers, labels)
            return replace(component, info=replace(info, create=create))
        if component.kind == "generator" and component.name not in REAL:
            create = partial(_kept_model, info.create, who, answers)
            return replace(component, info=replace(info, create=create))
        return component

    return swap


def player(answers: Answers) -> Swap:
    """Return what has models, judges and prompt sources answer from a recording. Nothing of theirs is loaded."""

    def swap(component: Component[Any]) -> Component[Any]:
        info, who = component.info, _who(component)
        if component.kind == "prompt_source":
            played = partial(_played_prompts, who, answers)
            return replace(component, info=replace(info, prompts=played, loading=Loading()))
        if component.kind == "judge":
            known = answers.get("labels", {"judge": who})
            labels = tuple(ObjectClass(name, synset) for name, synset in known) if known else None
            played = replace(
                info,
                labels=(lambda argument, options: labels) if known else None,
                create=lambda setup: _Played(who, answers, labels),
                loading=Loading(),
            )
            return replace(component, info=played)
        if component.kind == "generator" and component.name not in REAL:
            played = replace(info, create=lambda setup: _Played(who, answers), loading=Loading())
            if isinstance(played, SelfJudgingInfo):
                played = replace(played, check_judge=None)
            return replace(component, info=played)
        return component

    return swap


def _who(component: Component[Any]) -> str:
    """The component's name and argument with the options that the user gave."""
    return " ".join([component.spec, *(f"{key}={value}" for key, value in sorted(component.given.items()))])


# prompts


def _source(who: str, setup: Any) -> dict[str, Any]:
    return {"source": who, "labels": [c.name for c in setup.labels] if setup.labels else None}


def _kept_prompts(real: Callable[[Any], Iterable[Prompt]], who: str, answers: Answers, setup: Any) -> list[Prompt]:
    prompts = list(real(setup))
    answers.put("prompts", _source(who, setup), [_plain(prompt) for prompt in prompts])
    return prompts


def _played_prompts(who: str, answers: Answers, setup: Any) -> list[Prompt]:
    return [_prompt(plain) for plain in answers.get("prompts", _source(who, setup))]


def _plain(prompt: Prompt) -> dict[str, Any]:
    plain = {
        "id": prompt.id,
        "text": prompt.text,
        "scene": prompt.scene and prompt.scene.to_json(),
        "facets": dict(prompt.facets),
        "images": [write_image(read_image(Path(path))) for path in prompt.images],
        "texts": list(prompt.texts),
        "answer": prompt.answer,
        "cluster": prompt.cluster,
        "references": list(prompt.references),
        "questions": [question.to_json() for question in prompt.questions],
    }
    return {name: value for name, value in plain.items() if value not in (None, [], {})}


def _prompt(plain: Mapping[str, Any]) -> Prompt:
    return Prompt(
        id=plain["id"],
        text=plain["text"],
        scene=Scene.from_json(plain["scene"]) if "scene" in plain else None,
        facets=plain.get("facets", {}),
        images=tuple(str(IMAGES / f"{digest}.png") for digest in plain.get("images", ())),
        texts=tuple(plain.get("texts", ())),
        answer=plain.get("answer"),
        cluster=plain.get("cluster"),
        references=tuple(plain.get("references", ())),
        questions=parse_questions(plain.get("questions", [])),
    )


# models and judges


def _sample(who: str, request: Any) -> dict[str, Any]:
    prompt, seed = request.prompt, [request.seed, request.noise_seed]
    return {"model": who, "prompt": [prompt.id, prompt.text], "seed": seed}


def _question(who: str, capability: str, query: Any) -> dict[str, Any]:
    images = [pixel_digest(image.pixels) for image in query.images]
    params = dict(query.params)
    return {"judge": who, "capability": capability, "images": images, "texts": list(query.texts), "params": params}


def _failure(found: Failure) -> dict[str, Any]:
    return {"failure": [found.reason, found.missing, found.final]}


@dataclass
class _Kept:
    """A model or a judge whose answers are kept as it gives them."""

    real: Any
    who: str
    answers: Answers
    labels: tuple[ObjectClass, ...] | None = None

    @property
    def settings(self) -> Any:
        return getattr(self.real, "settings", {})

    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        for request, found in self.real.generate(requests):
            if isinstance(found, Failure):
                answer = _failure(found)
            else:
                answer = {"image": write_image(np.asarray(found.image)), "record": dict(found.record)}
            self.answers.put("image", _sample(self.who, request), answer)
            yield request, found

    def observe(self, capability: Any, queries: Iterable[Any]) -> Iterator[Any]:
        for query, found in self.real.observe(capability, queries):
            if isinstance(found, Failure):
                answer: Any = _failure(found)
            else:
                answer = b64encode(found.to_bytes(self.labels)).decode()
            self.answers.put("observation", _question(self.who, capability, query), answer)
            yield query, found

    def close(self) -> None:
        if hasattr(self.real, "close"):
            self.real.close()


def _kept_judge(create: Any, who: str, answers: Answers, labels: Any, setup: Any) -> _Kept:
    return _Kept(create(setup), who, answers, labels)


def _kept_model(create: Any, who: str, answers: Answers, setup: Any) -> _Kept:
    return _Kept(create(setup), who, answers)


@dataclass
class _Played:
    """A model or a judge that answers from a recording."""

    who: str
    answers: Answers
    labels: tuple[ObjectClass, ...] | None = None

    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        for request in requests:
            answer = self.answers.get("image", _sample(self.who, request))
            if "failure" in answer:
                yield request, Failure(*answer["failure"])
            else:
                yield request, Generated(read_image(IMAGES / f"{answer['image']}.png"), answer["record"])

    def observe(self, capability: Any, queries: Iterable[Any]) -> Iterator[Any]:
        for query in queries:
            answer = self.answers.get("observation", _question(self.who, capability, query))
            if isinstance(answer, dict):
                yield query, Failure(*answer["failure"])
            else:
                yield query, find_capability(capability).from_bytes(b64decode(answer), self.labels)


class _Grid:
    """Mean colours of 16 parts of the image as features, 48 numbers: exact, and so the same on every machine."""

    def observe(self, capability: Any, queries: Iterable[Any]) -> Iterator[Any]:
        for query in queries:
            pixels = query.images[0].pixels
            parts = [part for rows in np.array_split(pixels, 4) for part in np.array_split(rows, 4, axis=1)]
            values = np.concatenate([part.mean(axis=(0, 1)) / 255 for part in parts])
            yield query, Features(values.astype(np.float32))
