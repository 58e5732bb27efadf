"""Judge `imagereward`, on small random checkpoints with the keys of the published one."""

from __future__ import annotations

import importlib.util
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as PILImage
from t2i_cli.app import app
from t2i_core import load_run
from t2i_core.api import Failure, Query, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract
from typer.testing import CliRunner

HERE = Path(__file__).parent
TEXTS = ("a cat", "two red dog on grass", "", "a [DEC] cat", "a cat and " * 20)
GOLDEN = np.array(
    [
        [37.7941, 30.5900, 24.8997, 40.7908, 67.5577],
        [28.5003, 26.3931, 21.2836, 31.4893, 57.2188],
        [22.1051, 23.2008, 15.9783, 26.3507, 53.6146],
        [29.5451, 27.9260, 24.8895, 32.7842, 55.4671],
        [31.4637, 35.3626, 22.8236, 35.0798, 65.1607],
    ]
)
"""Rewards of five images (rows) for five texts by image-reward 1.5 with the small checkpoint."""


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"t2i_transformers_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECKPOINT = load("imagereward_checkpoint")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return CHECKPOINT.save_small(tmp_path_factory.mktemp("imagereward") / "small")


class TestImageReward(JudgeContract):
    module = "t2i_transformers.plugin"
    name = "imagereward"
    tolerance = 1e-4

    @pytest.fixture(autouse=True)
    def _folder(self, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(small))
        monkeypatch.setattr(type(self), "options", {"processor": str(small)})


def make(tiny: Any, folder: Path, batch_size: int | None = None, **options: Any) -> Any:
    return tiny.made("imagereward", folder, batch_size, **{"processor": str(folder), **options})


def rewards(tiny: Any, judge: Any, images: list[Image], texts: tuple[str, ...] = TEXTS) -> np.ndarray:
    """Each image's reward for each text, (images, texts)."""
    queries = [Query((image,), (text,)) for image in images for text in texts]
    found = [reward.value for reward in tiny.ask(judge, "reward", queries)]
    return np.array(found).reshape(len(images), len(texts))


def test_rewards_equal_those_of_the_package(tiny: Any, small: Path, images: list[Image]) -> None:
    judge = make(tiny, small)
    np.testing.assert_allclose(rewards(tiny, judge, images), GOLDEN, atol=2e-3)
    assert GOLDEN.std() > 5
    assert judge.settings["context_length"] == 35
    assert json.loads(json.dumps(judge.settings)) == judge.settings


@pytest.mark.parametrize("batch_size", [1, 7])
def test_rewards_do_not_depend_on_the_batch(tiny: Any, small: Path, images: list[Image], batch_size: int) -> None:
    found = rewards(tiny, make(tiny, small, batch_size), images)
    np.testing.assert_allclose(found, rewards(tiny, make(tiny, small, 25), images), atol=1e-3)


def test_each_image_of_a_batch_is_encoded_once(tiny: Any, small: Path, images: list[Image]) -> None:
    judge = make(tiny, small, 25)
    encoded = []
    encode = judge.loaded.network.encode_images
    judge.loaded.network.encode_images = lambda pixels: (encoded.append(len(pixels)), encode(pixels))[1]
    rewards(tiny, judge, images)
    assert sum(encoded) == len(images)


def test_rewards_record_truncation(
    tiny: Any, small: Path, images: list[Image], caplog: pytest.LogCaptureFixture
) -> None:
    judge = make(tiny, small, 1)
    queries = [Query((image,), (text,)) for image in images[:2] for text in TEXTS]
    with caplog.at_level(logging.WARNING, "t2i_transformers"):
        found = tiny.ask(judge, "reward", queries)
    assert [reward.cut_to for reward in found] == 2 * [None, None, None, None, 35]
    assert len(caplog.records) == 1  # not once for each image
    (longer,) = rewards(tiny, judge, images[:1], (TEXTS[-1] + "dog",))[0]
    assert longer == pytest.approx(found[4].value, abs=1e-4)  # nothing after the 35th token counts


def test_half_precision_keeps_the_head_in_full_precision(tiny: Any, small: Path, images: list[Image]) -> None:
    full = rewards(tiny, make(tiny, small), images)
    judge = make(tiny, small, dtype="bfloat16")
    half = rewards(tiny, judge, images)
    assert {layer.weight.dtype for layer in judge.loaded.network.head.values()} == {torch.float32}
    assert 0 < np.abs(half - full).max() < 0.5 * full.std()


def test_other_queries_fail_alone(tiny: Any, small: Path, images: list[Image]) -> None:
    queries = [Query((images[0],)), Query((images[0],), ("a cat",)), Query(texts=("a cat",))]
    found = tiny.ask(make(tiny, small), "reward", queries)
    assert [isinstance(answer, Failure) for answer in found] == [True, False, True]


def drop(key: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        weights = torch.load(folder / "ImageReward.pt", weights_only=True)
        del weights[key]
        torch.save(weights, folder / "ImageReward.pt")

    return change


def write_config(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "med_config.json").read_text())
        (folder / "med_config.json").write_text(json.dumps({**config, **changes}))

    return change


class Exploit:
    """A pickle that runs code when it is loaded without care."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (sys.exit, ("code of a pickle was run",))


@pytest.mark.long
@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (drop("blip.text_encoder.encoder.layer.1.crossattention.self.key.weight"), "layer.1.crossattention"),
        (drop("blip.visual_encoder.pos_embed"), "position_embedding"),
        (drop("mlp.layers.7.bias"), "head.7.bias"),
        (write_config(hidden_size=64), "ImageReward.pt"),
        (write_config(num_attention_heads="two"), "med_config.json"),
        (write_config(vocab_size=16), "ImageReward.pt"),
        (lambda folder: (folder / "med_config.json").write_text("{"), "med_config.json"),
        (lambda folder: (folder / "med_config.json").unlink(), "med_config.json"),
        (lambda folder: (folder / "ImageReward.pt").unlink(), "ImageReward.pt"),
        (lambda folder: (folder / "ImageReward.pt").write_bytes(b"no archive"), "ImageReward.pt"),
        (lambda folder: torch.save([1, 2], folder / "ImageReward.pt"), "state dict"),
        (lambda folder: torch.save({"a": Exploit()}, folder / "ImageReward.pt"), "sys.exit"),
        (lambda folder: (folder / "vocab.txt").unlink(), "tokenizer"),
        (lambda folder: (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n"), "has 7 tokens"),
    ],
)
def test_files_that_do_not_fit_are_named_before_the_run(
    tiny: Any, tmp_path: Path, damage: Callable[[Path], Any], named: str
) -> None:
    folder = CHECKPOINT.save_small(tmp_path / "damaged")
    damage(folder)
    info = tiny.OFFERED["imagereward"]
    with pytest.raises(BadModel) as found:
        info.loading.check(Setup(str(folder), info.options(processor=str(folder)), "cpu", offline=True))
    assert named in str(found.value)
    assert "\n" not in str(found.value)


def test_a_digest_pins_the_weights(tiny: Any, small: Path, images: list[Image]) -> None:
    digest = make(tiny, small).settings["sha256"]
    rewards(tiny, make(tiny, small, sha256=digest), images[:1])
    with pytest.raises(BadModel):
        make(tiny, small, sha256="0" * 64)


def test_the_fingerprint_has_weights_config_and_tokenizer(tiny: Any, small: Path) -> None:
    info = tiny.OFFERED["imagereward"]
    found = {Path(part).name for part in info.loading.weights(str(small), info.options(processor=str(small)))}
    assert found >= {"ImageReward.pt", "med_config.json", "vocab.txt"}


def test_a_run_of_two_models_counts_truncated_prompts(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    prompts = ("a cat", "two red dog on grass", TEXTS[-1])
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        lines = [f"{number}.png,{prompt}" for number, prompt in enumerate(prompts)]
        (tmp_path / name / "prompts.csv").write_text("\n".join(("file,prompt", *lines)))
        for number in range(3):
            noise = PILImage.effect_noise((40, 48), 20 + 60 * number + 5 * len(name))
            noise.convert("RGB").save(tmp_path / name / f"{number}.png")
    words = [
        "eval", "--metric", "reward", "--judge", f"imagereward:{small}", "-o", f"imagereward.processor={small}",
        *(word for name in ("one", "other") for word in ("--model", f"{name}=folder:{tmp_path / name}")),
        "--offline", "--device", "cpu", "--json",
        "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    run = load_run(tmp_path / "run")
    assert [(result.n_ok, result.judge.name) for result in run.results] == 2 * [(3, f"imagereward:{small}")]
    for result in run.results:
        assert any("35 tokens" in note and "1" in note for note in result.notes)
    values = run.measurements().query("measure == 'reward'")
    assert values["value"].astype(float).nunique() == 6
    (difference,) = run.comparisons
    assert difference.n == 3


def score_with_package(place: Path, folder: Path, files: list[Path], texts: tuple[str, ...]) -> np.ndarray:
    """Rewards by the package image-reward in its own environment, (images, texts)."""
    python = place / "venv" / "bin" / "python"
    # image-reward's code is for an older transformers than its requirements admit
    wanted = ("image-reward==1.5", "transformers==4.40.2", "diffusers==0.30.3")
    for words in (
        ("uv", "venv", "--quiet", "--allow-existing", "--python", sys.executable, place / "venv"),
        ("uv", "pip", "install", "--quiet", "--python", python, *wanted),
    ):
        subprocess.run(words, check=True, cwd=place)  # outside this workspace, whose constraints uv would take
    tokenizer = place / "bert-base-uncased"
    tokenizer.mkdir(exist_ok=True)
    (tokenizer / "vocab.txt").write_bytes((folder / "vocab.txt").read_bytes())
    subprocess.run(
        [python, HERE / "imagereward_scores.py", folder, *files],
        input=json.dumps(texts), text=True, check=True, cwd=place,
    )  # fmt: skip
    return np.array(json.loads((folder / "scores.json").read_text()))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("size", ["small", "published"])
def test_parity_with_the_package(
    tiny: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, images: list[Image], size: str
) -> None:
    save = CHECKPOINT.save_small if size == "small" else CHECKPOINT.save_published_size
    folder = save(tmp_path / size, seed=1)
    place = tmp_path_factory.getbasetemp() / "image-reward"
    place.mkdir(exist_ok=True)
    chosen = images if size == "small" else images[2:4]
    expected = score_with_package(place, folder, [image.path for image in chosen], TEXTS)
    found = rewards(tiny, make(tiny, folder), chosen)
    np.testing.assert_allclose(found, expected, atol=1e-4 * expected.std())
    assert expected.std() > 1
