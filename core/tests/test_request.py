"""The request: what its fields take, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api.errors import BadOption
from t2i_core.engine import request_values
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest, Request


@pytest.mark.parametrize(
    ("value", "seeds"),
    [
        (3, (0, 1, 2)),
        ("3", (0, 1, 2)),
        ("0,7", (0, 7)),
        ("2-4", (2, 3, 4)),
        ("0-1,9", (0, 1, 9)),
        ([5, 2], (5, 2)),
        (range(2, 4), (2, 3)),
        (None, None),
    ],
)
def test_seeds_are_read(value: Any, seeds: tuple[int, ...] | None) -> None:
    assert Request(seeds=value).seeds == seeds


@pytest.mark.parametrize(
    ("text", "label", "spec"),
    [
        ("good=grey", "good", "grey"),
        (" good one-2_b.c = x/grey:a=b ", "good one-2_b.c", "x/grey:a=b "),
        ("b\xe9b\xe9=grey", "b\xe9b\xe9", "grey"),
        ("folder:a=b", None, "folder:a=b"),
        ("./a=b", None, "./a=b"),
        ("a/b=c", None, "a/b=c"),
        ("=grey", None, "=grey"),
        ("good=", None, "good="),
        ("grey", None, "grey"),
    ],
)
def test_a_model_may_begin_with_a_label(text: str, label: str | None, spec: str) -> None:
    assert Request(models=text).models == (ModelRequest(spec, label),)
    assert ModelRequest(text) == ModelRequest(text, None)


def test_paths_begin_with_the_home_folder() -> None:
    request = Request(out=Path("~/run"), prompts=["~/list.txt", "list:~/x", "tiam-5-1"])
    assert request.out == Path.home() / "run"
    assert request.prompts == (str(Path.home() / "list.txt"), "list:~/x", "tiam-5-1")
    assert Request(out=Path("run")).out == Path("run")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "0",
        "x",
        "1,1",
        "3-",
        "5-2",
        "-1",
        0,
        -1,
        True,
        [],
        [1, 1],
        [-1],
        [0.5],
        [True],
        "0-99999999999999999999",
        "0-9999999,9999999999-0",
    ],
)
def test_bad_seeds_are_refused(value: Any) -> None:
    with pytest.raises(BadOption, match=r"^--seeds must be .*got"):
        Request(seeds=value)


def test_more_seeds_than_fit_are_never_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_values, "MAX_SEEDS", 10)
    assert len(Request(seeds=10).seeds or ()) == 10
    with pytest.raises(BadOption, match="at most 10 seeds"):
        Request(seeds=11)  # type: ignore[arg-type]


def test_shards_are_read() -> None:
    for value in ("2/3", (2, 3)):
        assert Request(shard=value).shard == (2, 3)  # type: ignore[arg-type]
    for wrong in ("0/2", "3/2", "1", "a/b", (0, 2), (1, 2, 3), 1, ""):
        with pytest.raises(BadOption, match=r"^--shard must be I/N"):
            Request(shard=wrong)  # type: ignore[arg-type]


def test_one_value_is_a_list_of_one() -> None:
    info = object()
    made = Request("a", "m", prompts="p", judges="j")  # type: ignore[arg-type]
    assert (made.metrics, made.prompts, made.judges) == (("a",), ("p",), ("j",))
    assert made.models == (ModelRequest("m"),)
    for wrong in ({"metrics": info}, {"prompts": [3]}, {"models": 3}):
        with pytest.raises(BadOption, match="must be a"):
            Request(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"limit": 0}, "--limit must be at least 1 (got 0)"),
        ({"max_failed": 3}, "--max-failed must be between 0 and 1 (got 3)"),
        ({"max_failed": float("nan")}, "--max-failed must be between 0 and 1 (got nan)"),
        ({"interval": "old"}, "--interval must be 'new', 'prompts' or 'seeds' (got 'old')"),
        ({"device": "gpu"}, "--device must be auto, cpu, cuda, cuda:N or mps (got 'gpu')"),
        ({"batch_size": 0}, "--batch-size must be a whole number from 1, or auto (got 0)"),
        ({"limits": 3}, "unknown option 'limits': did you mean 'limit'?"),
        ({"limit": 0, "fresh": 3}, "--limit must be at least 1 (got 0); --fresh must be true or false"),
    ],
)
def test_errors_are_one_line(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOption) as caught:
        Request(**wrong)
    assert str(caught.value).startswith(message)
    with pytest.raises(BadOption):
        evaluate("metric", "model", **wrong)


def test_a_model_stands_for_every_combination() -> None:
    both = ModelRequest(("a", "b"), "L", {"s": 0}, {"x": [1, 2]})
    assert [(m.spec, m.label, m.settings) for m in both.expand()] == [
        ("a", "L a x=1", {"s": 0, "x": 1}),
        ("a", "L a x=2", {"s": 0, "x": 2}),
        ("b", "L b x=1", {"s": 0, "x": 1}),
        ("b", "L b x=2", {"s": 0, "x": 2}),
    ]
    assert list(ModelRequest("a", "L", {"x": 1}).expand()) == [ModelRequest("a", "L", {"x": 1})]
    with pytest.raises(BadOption, match=r"^ModelRequest must not have x in settings and in matrix$"):
        ModelRequest("a", settings={"x": 1}, matrix={"x": [2]})
    with pytest.raises(BadOption, match=r"^model must be a name"):
        ModelRequest(("a", 3))  # type: ignore[arg-type]
    with pytest.raises(BadOption, match=r"^matrix x must have an item"):
        ModelRequest("a", matrix={"x": []})


def test_a_changed_request_is_checked_again() -> None:
    request = Request("a", "m", seeds=2, shard="1/2")  # type: ignore[arg-type]
    assert replace(request, limit=3) == Request("a", "m", seeds=2, shard="1/2", limit=3)  # type: ignore[arg-type]
    with pytest.raises(BadOption):
        replace(request, limit=0)
