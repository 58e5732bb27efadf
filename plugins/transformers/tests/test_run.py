"""The judges in evaluations, by the command line: found by name, asked through core, kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PILImage
from t2i_cli.app import app
from t2i_core import evaluate
from t2i_core.api import (
    Measure,
    Metric,
    MetricInfo,
    Need,
    ObjectClass,
    Query,
    Row,
    Sample,
    Scene,
    SceneObject,
    VisualQuestion,
)
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.storage.store import Store
from t2i_core.testing import TEST_MODEL
from typer.testing import CliRunner


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "kept"))


@pytest.mark.parametrize("kind", ["segmenter", "detector"])
def test_tiam_runs_on_it(
    tiny: Any, tiny_mask2former: Path, tiny_detr: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command line: two prompts, two images each; a detector gives no masks, and is refused."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_DISABLE_PLUGINS", "t2i-ultralytics")  # TIAM would take its judge
    (tmp_path / "images").mkdir()
    lines = []
    for name in ("cat", "dog"):
        scene = Scene((SceneObject(ObjectClass(name, f"{name}.n.01")),)).to_json()
        for seed in (0, 1):
            file = f"{name}-{seed}.png"
            PILImage.effect_noise((48, 40), 60 + seed).convert("RGB").save(tmp_path / "images" / file)
            lines.append({"file": file, "seed": seed, "prompt": f"a photo of a {name}", "scene": scene})
    (tmp_path / "images" / "prompts.jsonl").write_text("\n".join(map(json.dumps, lines)))
    folder = tiny_mask2former if kind == "segmenter" else tiny_detr
    done = CliRunner().invoke(
        app,
        [
            "eval", "--metric", "tiam", "--model", "folder:images", "--offline",
            "--judge", f"transformers-{kind}:{folder}", "--device", "cpu", "--json", "--seeds", "2",
            "--out", str(tmp_path / "run"),
        ],
    )  # fmt: skip
    if kind == "detector":
        assert done.exit_code == 9
        assert "the judge you asked for offers detect; tiam needs segment" in done.output
        return
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)["results"]
    assert (result["n_ok"], result["n_failed"]) == (4, 0)
    assert 0 <= result["score"] <= 1


def _pair(samples: Sequence[Sample]) -> list[Query]:
    return [Query((sample.image, sample.image), (sample.prompt.text,)) for sample in samples if sample.image]


class Asking(Metric):
    """Asks for one capability and takes a number from what comes."""

    def __init__(self, capability: Any, value: Any) -> None:
        further = {"queries": _pair} if capability == "prefer" else {}
        self.needs = (Need("it", capability, **further),)
        self.value = value

    def measure(self, unit: Any) -> Any:
        yield Row("value", float(self.value(unit.one().one("it"))))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "folder", "capability", "value", "options"),
    [
        ("transformers-detector", "tiny_detr", "detect", lambda found: found.class_probs.sum(), {}),
        ("transformers-captioner", "tiny_blip", "caption", lambda found: len(found.text), {"max_tokens": 6}),
        ("transformers-reward", "tiny_clip", "reward", lambda found: found.value, {}),
        ("transformers-reward", "tiny_siglip", "reward", lambda found: found.value, {}),
        ("transformers-reward", "tiny_clip", "prefer", lambda found: found.margin, {}),
        ("transformers-vlm", "telling_qwen", "prefer", lambda found: found.reasoning.endswith("[[A]]"), {}),
    ],
)
def test_a_run_with_each(
    name: str,
    folder: str,
    capability: str,
    value: Any,
    options: Any,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a dog\na cat\n")
    metric = MetricInfo(
        name="asking",
        summary="Asks.",
        create=lambda setup: Asking(capability, value),
        measures=(Measure("value", "A value."),),
    )
    run = evaluate(
        metric, TEST_MODEL, prompts=str(prompts), judge=f"{name}:{request.getfixturevalue(folder)}", seeds=2,
        out=tmp_path / "run", options={name: options}, offline=True, device="cpu",
    )  # fmt: skip
    (result,) = run.results
    assert (result.n_ok, result.n_failed) == (4, 0)
    (judge,) = (part for part in run.manifest.components if part.kind == "judge")
    with Store() as store:
        assert (store.settings(judge.fingerprint) or {})["dtype"] == "float32"


QUESTIONS = ("Is there a dog?", "Is it red?", "Is there grass?")


def _ask_each(samples: Sequence[Sample]) -> list[Query]:
    return [
        VisualQuestion(text, YES_NO).about(sample.image)
        for sample in samples
        if sample.image
        for text in QUESTIONS
    ]


class Questioning(Metric):
    """Asks three questions about each image."""

    needs = (Need("answers", "answer", queries=_ask_each),)

    def measure(self, unit: Any) -> Any:
        yield Row("value", sum(float(answer.probs[0]) for answer in unit.one().all("answers")) / len(QUESTIONS))


@pytest.mark.long
def test_a_run_shows_each_image_to_the_vision_tower_once(
    tiny: Any, answer_checkpoints: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve questions about four images, in batches of four: core asks by image, so that batches cut images."""
    from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel

    folder = answer_checkpoints.save_qwen3(tmp_path / "model", tiny)
    passes, forward = [], Qwen3VLVisionModel.forward

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        passes.append(1)
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(Qwen3VLVisionModel, "forward", counted)
    (tmp_path / "prompts.txt").write_text("a dog\na cat\n")
    metric = MetricInfo(
        name="questioning", summary="Asks.", create=Questioning, measures=(Measure("value", "A value."),)
    )
    run = evaluate(
        metric, TEST_MODEL, prompts=str(tmp_path / "prompts.txt"), judge=f"transformers-vlm:{folder}", seeds=2,
        out=tmp_path / "run", offline=True, device="cpu",
    )  # fmt: skip
    (result,) = run.results
    assert (result.n_ok, result.n_failed) == (4, 0)
    assert len(passes) == 4
