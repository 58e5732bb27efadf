"""Loading: folders, repositories in the hub's cache, and errors about missing ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Setup
from t2i_core.api.errors import BadModel, BadOption
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators
from t2i_diffusers.sources import list_files

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def load(argument: str, offline: bool = False, **options: Any) -> Any:
    from t2i_diffusers.generator import Diffusers

    return Diffusers(Setup(argument, DiffusersOptions(**options), "cpu", 2, offline))


@pytest.fixture
def folder(checkpoint: Any, tmp_path: Path) -> Path:
    """A copy of a checkpoint to damage."""
    return Path(shutil.copytree(checkpoint("StableDiffusionPipeline")[0], tmp_path / "model"))


@pytest.fixture
def cached(checkpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hub's cache with the repository org/tiny in it, as a download leaves it; no network."""
    from huggingface_hub import constants

    snapshot = tmp_path / "models--org--tiny" / "snapshots" / COMMIT
    shutil.copytree(checkpoint("StableDiffusionPipeline")[0], snapshot)
    (tmp_path / "models--org--tiny" / "refs").mkdir()
    (tmp_path / "models--org--tiny" / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return snapshot


def test_a_repository_that_is_here_loads_offline_and_its_commit_is_recorded(
    cached: Path, draw: Any, requests: Any
) -> None:
    loaded = load("org/tiny", offline=True, steps=1)
    assert loaded.settings["revision"] == COMMIT
    assert len(draw(loaded, requests[:1])) == 1


def test_a_repository_takes_another_denoiser_and_needs_no_own_weights(
    cached: Path, tmp_path: Path, draw: Any, requests: Any
) -> None:
    other = Path(shutil.copytree(cached / "unet", tmp_path / "other"))
    (cached / "unet" / "diffusion_pytorch_model.safetensors").unlink()
    model = load("org/tiny", steps=1, denoiser=str(other))
    assert [type(answer).__name__ for answer in draw(model, requests[:1])] == ["Generated"]


def test_the_commit_is_pinned_before_anything_is_loaded(cached: Path) -> None:
    info = next(i for i in t2i_generators() if i.name == "diffusers")
    resolved = info.loading.resolve(Setup("org/tiny", DiffusersOptions(), "cpu", offline=True))
    assert resolved.revision == COMMIT
    assert list(info.loading.weights("org/tiny", resolved)) == [f"org/tiny@{COMMIT}"]


def test_offline_without_the_files_it_says_what_to_fetch(cached: Path) -> None:
    with pytest.raises(BadModel, match=r"org/other is not on this machine.*t2i prefetch diffusers:org/other"):
        load("org/other", offline=True)
    with pytest.raises(BadModel, match=r"org/tiny at revision v2 is not on this machine.*t2i prefetch"):
        load("org/tiny", offline=True, revision="v2")
    (cached / "unet" / "diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(BadModel, match=r"org/tiny: its unet has no weights"):
        load("org/tiny")
    with pytest.raises(BadModel, match=r"org/tiny is not whole on this machine.*t2i prefetch"):
        load("org/tiny", offline=True)


def test_a_folder_has_no_revisions(folder: Path) -> None:
    info = next(i for i in t2i_generators() if i.name == "diffusers")
    with pytest.raises(BadOption, match=r"leave out the option revision=v2"):
        info.loading.resolve(Setup(str(folder), DiffusersOptions(revision="v2"), "cpu"))


def test_a_stage_that_is_not_here_is_named_by_its_option(cached: Path) -> None:
    with pytest.raises(BadModel, match="upscaler org/up is not on this machine"):
        load("org/tiny", offline=True, upscaler={"model": "org/up"})


def test_places_that_hold_no_pipeline(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    single, pickle = tmp_path / "model.safetensors", tmp_path / "model.ckpt"
    single.touch()
    pickle.touch()
    for argument, message in (
        (str(tmp_path / "nowhere"), "is neither a folder nor a repository"),
        ("./nowhere", "./nowhere: is neither a folder nor a repository"),
        (str(tmp_path / "empty"), r"holds no pipeline of diffusers \(model_index.json is missing\)"),
        (str(single), r"model\.safetensors: it is cut off, or not safetensors"),
        (str(pickle), r"is a file, but must be the folder of a pipeline .* or a single \.safetensors file"),
        (f"org/tiny@{COMMIT}", f"name org/tiny without a revision, and set the option revision={COMMIT}"),
    ):
        with pytest.raises(BadModel, match=message):
            load(argument)
    (folder / "model_index.json").write_text('{"_class_name": "NoSuchPipeline"}')
    with pytest.raises(BadModel, match="has no pipeline NoSuchPipeline"):
        load(str(folder))


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (
            "KandinskyPipeline",
            "draws from image_embeds, negative_image_embeds, not from a text; set the option prior.model",
        ),
        ("DDPMPipeline", "takes no prompt, so it is not a text-to-image pipeline"),
    ],
)
def test_pipelines_that_draw_no_texts(pipeline: str, message: str, folder: Path) -> None:
    index = json.loads((folder / "model_index.json").read_text())
    (folder / "model_index.json").write_text(json.dumps({**index, "_class_name": pipeline}))
    with pytest.raises(BadModel, match=message):
        load(str(folder))


def test_damaged_weights_are_named(folder: Path) -> None:
    (folder / "unet" / "diffusion_pytorch_model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(BadModel, match="its unet is damaged"):
        load(str(folder))


def test_pickles_are_loaded_only_with_their_digest_pinned(folder: Path, draw: Any, requests: Any) -> None:
    import torch
    from safetensors.torch import load_file
    from t2i_core.files.digest import digest_file

    safe = folder / "unet" / "diffusion_pytorch_model.safetensors"
    expected = draw(load(str(folder), steps=1), requests[:1])[0].image
    pickled = safe.with_suffix(".bin")
    torch.save(load_file(safe), pickled)
    safe.unlink()
    digest = digest_file(pickled)
    with pytest.raises(BadModel, match=rf"unet/diffusion_pytorch_model.bin \(SHA-256 {digest}\).*pickles="):
        load(str(folder))
    with pytest.raises(BadModel, match="SHA-256"):
        load(str(folder), pickles=["0" * 64])
    again = draw(load(str(folder), steps=1, pickles=[digest]), requests[:1])[0].image
    assert (again == expected).all()


def test_one_pinned_pickle_lets_no_other_in(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file
    from t2i_core.files.digest import digest_file

    def pickled(part: str, name: str) -> Path:
        (safe,) = (folder / part).glob("*.safetensors")
        torch.save(load_file(safe), folder / part / name)
        return folder / part / name

    pinned = pickled("vae", "diffusion_pytorch_model.bin")
    (folder / "vae" / "diffusion_pytorch_model.safetensors").unlink()
    digest = digest_file(pinned)
    # read in place of what is not there under this name, though there are safetensors of another variant
    other = pickled("unet", "diffusion_pytorch_model.bin")
    safe = folder / "unet" / "diffusion_pytorch_model.safetensors"
    safe.rename(folder / "unet" / "diffusion_pytorch_model.fp16.safetensors")
    both = json.dumps(sorted([digest, digest_file(other)]))
    with pytest.raises(
        BadModel, match=r"pickles instead of safetensors: unet/diffusion_pytorch_model.bin \("
    ) as e:
        load(str(folder), pickles=[digest])
    assert f"pickles={both}" in str(e.value), "the option as it must be given, with what is pinned already"
    load(str(folder), pickles=json.loads(both))
    # never read: the very same file is there as safetensors, by which transformers means another name
    (folder / "unet" / "diffusion_pytorch_model.fp16.safetensors").rename(safe)
    text = pickled("text_encoder", "pytorch_model.bin")
    text.write_bytes(b"nonsense")
    other.write_bytes(b"nonsense")
    load(str(folder), pickles=[digest])
    shard = text.rename(text.with_name("pytorch_model-00001-of-00002.bin"))
    with pytest.raises(BadModel, match=f"text_encoder/{shard.name}"):
        load(str(folder), pickles=[digest])


def test_weights_of_another_model_are_named_with_both_shapes(folder: Path, tiny: Any) -> None:
    """And without the libraries' advice to put random numbers in their place."""
    other = tiny.unet(cross_attention_dim=32)
    other.save_pretrained(folder / "other")
    file = "diffusion_pytorch_model.safetensors"
    own = (folder / "unet" / file).read_bytes()
    shutil.copy(folder / "other" / file, folder / "unet" / file)
    with pytest.raises(BadModel) as error:
        load(str(folder))
    assert str(error.value) == (
        f"{folder}: does not load as StableDiffusionPipeline: "
        "down_blocks.0.attentions.0.transformer_blocks.0.attn2.to_k.weight has the shape [8, 32], but the config "
        "requires [8, 16]; use files of one model"
    )
    (folder / "unet" / file).write_bytes(own)
    tiny.clip_text(width=32).save_pretrained(folder / "text")
    shutil.copy(folder / "text" / "model.safetensors", folder / "text_encoder" / "model.safetensors")
    wanted = r"does not fit its config: \S+ has the shape \[77, 32\], but the config requires \[77, 16\]"
    with pytest.raises(BadModel, match=wanted):
        load(str(folder))


def _without(file: Path, part: str) -> None:
    from safetensors.torch import load_file, save_file

    kept = {name: tensor for name, tensor in load_file(file).items() if part not in name}
    save_file(kept, file, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("file", "key", "said"),
    [
        (
            "text_encoder/model",
            "layers.1.",
            r"its text_encoder lacks \S*layers\.1\.layer_norm1\.bias and 15 more: ",
        ),
        (
            "unet/diffusion_pytorch_model",
            "conv_out.weight",
            r"its unet lacks conv_out\.weight: the weights of \S+ in \S+",
        ),
    ],
)
def test_weights_that_are_missing_are_never_made_up(
    file: str, key: str, said: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _without(folder / f"{file}.safetensors", key)
    with pytest.raises(BadModel, match=f"^{folder}: {said}") as error:
        load(str(folder))
    assert "\n" not in str(error.value)
    assert capfd.readouterr().err == ""


def test_weights_of_another_part_are_told_in_one_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = "diffusion_pytorch_model.safetensors"
    shutil.copy(folder / "vae" / file, folder / "unet" / file)
    for both in ("conv_in", "conv_out", "conv_norm_out"):  # of different shapes
        _without(folder / "unet" / file, both)
    with pytest.raises(BadModel, match=r"its unet lacks \S+ and \d+ more: .* or are of another model$"):
        load(str(folder))
    assert capfd.readouterr().err == ""


def test_additional_entries_of_old_files_are_accepted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    def beside(name: str, *, legacy: bool) -> None:
        file = folder / "text_encoder" / "model.safetensors"
        # the names of before: under `text_model`
        old = {k if k.startswith("text_model.") else f"text_model.{k}": v for k, v in load_file(file).items()}
        kept = {k: v for k, v in old.items() if legacy or "position_ids" not in k}
        save_file({**kept, name: torch.arange(77)[None]}, file, metadata={"format": "pt"})

    beside("text_model.embeddings.position_ids", legacy=True)
    load(str(folder))
    assert not caplog.records
    beside("text_model.encoder.layers.7.nonsense", legacy=False)
    load(str(folder))
    (record,) = caplog.records
    assert "does not use: " in record.getMessage()
    assert "layers.7.nonsense" in record.getMessage()


def test_weights_of_shards_and_of_variants_are_counted_together(folder: Path) -> None:
    from transformers import CLIPTextModel

    text = CLIPTextModel.from_pretrained(folder / "text_encoder")
    (folder / "text_encoder" / "model.safetensors").unlink()
    text.save_pretrained(folder / "text_encoder", max_shard_size="20KB", variant="fp16")
    assert len(list((folder / "text_encoder").glob("model.fp16-*.safetensors"))) > 1
    load(str(folder), variant="fp16")


def test_no_watermark_whatever_is_installed(checkpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers.pipelines.stable_diffusion_xl import pipeline_stable_diffusion_xl as module

    monkeypatch.setattr(module, "is_invisible_watermark_available", lambda: True)
    monkeypatch.setattr(module, "StableDiffusionXLWatermarker", object, raising=False)
    folder, options = checkpoint("StableDiffusionXLPipeline")
    assert module.StableDiffusionXLPipeline.from_pretrained(folder).watermark is not None
    assert load(str(folder), **options).loaded.main.pipe.watermark is None


def test_the_options_are_checked_before_weights_are_loaded(folder: Path) -> None:
    (folder / "unet" / "diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(BadOption, match="StableDiffusionPipeline takes no strength"):
        load(str(folder), call={"strength": 0.5})
    with pytest.raises(BadOption, match="option scheduler_options: PNDMScheduler has no spacing"):
        load(str(folder), scheduler_options={"spacing": "trailing"})
    second = {"model": str(folder), "scheduler": "DDIM"}
    with pytest.raises(BadOption, match=r"option upscaler\.scheduler: diffusers has no scheduler 'DDIM'"):
        load(str(folder), upscaler=second)


def test_arguments_that_are_the_generators_own_are_refused() -> None:
    with pytest.raises(ValueError, match="generator cannot be set"):
        DiffusersOptions(call={"generator": 1})
    with pytest.raises(ValueError, match=r"upscaler\.model too"):
        DiffusersOptions(upscaler2={"model": "a/b"})


def test_the_digest_is_of_all_that_a_pipeline_reads(folder: Path) -> None:
    names = {file.relative_to(folder).as_posix() for file in list_files(folder)}
    assert {"model_index.json", "unet/config.json", "vae/diffusion_pytorch_model.safetensors"} <= names
    assert "scheduler/scheduler_config.json" in names
    (folder / "README.md").write_text("no part of it")
    assert len(list_files(folder)) == len(names)
