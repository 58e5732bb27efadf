"""Folders, repositories in the hub's cache, pickles, and what is wrong with them, before anything is loaded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from t2i_core.api import Preset, Query, Setup
from t2i_core.api.errors import BadModel, BadOption
from t2i_core.api.image import Image
from t2i_core.files.digest import digest_file
from t2i_transformers import checkpoints
from t2i_transformers.plugin import CAPTIONER, DETECTOR, PREFERENCE, REWARD, SEGMENTER

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A cache as the hub's client lays it out; called with a repository's name and content, it holds that."""
    for module in ("constants", "file_download.constants"):
        monkeypatch.setattr(f"huggingface_hub.{module}.HF_HUB_CACHE", str(tmp_path / "cache"))

    def put(repository: str, content: Path) -> None:
        place = tmp_path / "cache" / f"models--{repository.replace('/', '--')}"
        (place / "refs").mkdir(parents=True)
        (place / "refs" / "main").write_text(COMMIT)
        shutil.copytree(content, place / "snapshots" / COMMIT)

    return put


def setup(tiny: Any, name: str, argument: Any, **options: Any) -> Setup[Any]:
    return Setup(str(argument), tiny.OFFERED[name].options(**options), "cpu", None, offline=True)


def check(tiny: Any, name: str, argument: Any, **options: Any) -> None:
    tiny.OFFERED[name].loading.check(setup(tiny, name, argument, **options))


def test_a_repository_is_found_in_the_cache_and_its_commit_pinned(
    tiny: Any, tiny_detr: Path, hub: Any, images: list[Image]
) -> None:
    hub("someone/detr", tiny_detr)
    check(tiny, DETECTOR, "someone/detr")
    info = tiny.OFFERED[DETECTOR]
    settled = info.loading.resolve(setup(tiny, DETECTOR, "someone/detr"))
    assert settled.revision == COMMIT
    assert list(info.loading.weights("someone/detr", settled)) == [f"someone/detr@{COMMIT}"]
    assert info.labels("someone/detr", settled) == info.labels(str(tiny_detr), info.options())
    info.loading.prefetch(setup(tiny, DETECTOR, "someone/detr"))
    judge = tiny.made(DETECTOR, "someone/detr", revision=COMMIT)
    assert judge.settings["commit"] == COMMIT
    queries = [Query((image,)) for image in images]
    found, expected = (tiny.ask(j, "detect", queries) for j in (judge, tiny.made(DETECTOR, tiny_detr)))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a.class_probs, b.class_probs)
    with pytest.raises(BadModel, match=r"at v9 .*t2i prefetch transformers-detector:someone/detr"):
        check(tiny, DETECTOR, "someone/detr", revision="v9")


def test_a_repository_that_is_half_here_is_said(tiny: Any, tiny_detr: Path, hub: Any, tmp_path: Path) -> None:
    half = tmp_path / "half"
    shutil.copytree(tiny_detr, half, ignore=shutil.ignore_patterns("*.safetensors"))
    hub("someone/half", half)
    with pytest.raises(BadModel, match=r"model\.safetensors of someone/half .*t2i prefetch"):
        check(tiny, DETECTOR, "someone/half")


def test_a_repository_that_lacks_parts_is_told_from_one_that_is_half_here(
    tiny: Any, tiny_detr: Path, hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = {"weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}}
    shutil.copytree(tiny_detr, tmp_path / "some", ignore=shutil.ignore_patterns("*.safetensors"))
    (tmp_path / "some" / "model.safetensors.index.json").write_text(json.dumps(index))
    shutil.copyfile(tiny_detr / "model.safetensors", tmp_path / "some" / "model-1-of-2.safetensors")
    hub("someone/some", tmp_path / "some")
    there = tmp_path / "cache" / "models--someone--some" / "snapshots" / COMMIT
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download", lambda *_, **__: str(there)
    )  # had all there is to have
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    info, options = tiny.OFFERED[DETECTOR], tiny.OFFERED[DETECTOR].options()
    lacking = r"model-2-of-2\.safetensors"
    for offline, network, said in (
        (True, None, rf"{lacking} of someone/some .*nothing may be fetched: run `t2i prefetch"),
        (False, "Connect: no route", rf"no network, .*{lacking} of someone/some.*no route"),
        (False, None, rf"someone/some has no {lacking}, .*; the repository is incomplete"),
    ):
        monkeypatch.setattr("t2i_torch_support.hub_files.find_outage", lambda network=network: network)
        with pytest.raises(BadModel, match=said):
            info.loading.prefetch(Setup("someone/some", options, "cpu", None, offline))


def test_files_of_this_machine_have_no_revision(tiny: Any, tiny_detr: Path) -> None:
    with pytest.raises(BadOption, match=rf"{tiny_detr} .* leave out the option revision=v2"):
        tiny.OFFERED[DETECTOR].loading.resolve(setup(tiny, DETECTOR, tiny_detr, revision="v2"))


def test_every_preset_says_offline_what_to_fetch(tiny: Any, hub: Any) -> None:
    presets = [offered for offered in tiny.OFFERED.values() if isinstance(offered, Preset)]
    assert len(presets) >= 6
    for preset in presets:
        name = preset.of.rpartition("/")[2]
        assert preset.about.licence
        assert preset.about.memory_gb
        with pytest.raises(
            BadModel, match=rf"config\.json of {preset.argument} .*t2i prefetch {name}:{preset.argument}"
        ):
            check(tiny, name, preset.argument, **preset.options)


def test_a_processor_elsewhere_is_pinned_too(tiny: Any, tiny_clip: Path, hub: Any) -> None:
    hub("someone/score", tiny_clip)
    command = r"t2i prefetch transformers-reward:someone/score -o \S+=someone/clip`"
    with pytest.raises(BadModel, match=rf"config\.json of someone/clip .*{command}"):
        check(tiny, REWARD, "someone/score", processor="someone/clip")
    hub("someone/clip", tiny_clip)
    info = tiny.OFFERED[REWARD]
    settled = info.loading.resolve(setup(tiny, REWARD, "someone/score", processor="someone/clip"))
    assert settled.processor == f"someone/clip@{COMMIT}"
    assert list(info.loading.weights("someone/score", settled)) == [
        f"someone/score@{COMMIT}",
        f"someone/clip@{COMMIT}",
    ]
    assert (
        tiny.made(REWARD, "someone/score", processor=settled.processor).settings["processor_of"] == "someone/clip"
    )


def test_precision_that_is_left_to_the_device(tiny: Any, tiny_qwen: Path) -> None:
    info = tiny.OFFERED[PREFERENCE]
    for device, dtype in (("cpu", "float32"), ("cuda:1", "bfloat16"), ("mps", "float32")):
        asked = Setup(str(tiny_qwen), info.options(), device)
        assert info.loading.resolve(asked).dtype == dtype
    assert info.loading.resolve(Setup(str(tiny_qwen), info.options(dtype="float16"), "cuda")).dtype == "float16"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        (SEGMENTER, "tiny_detr", "has the architecture 'detr'; this judge runs mask2former"),
        (DETECTOR, "tiny_clip", "has the architecture 'clip'; this judge runs detr, yolos"),
        (CAPTIONER, "tiny_clip", "has the architecture 'clip'; this judge runs blip, git"),
        (REWARD, "tiny_blip", "has the architecture 'blip'; this judge runs clip, siglip"),
    ],
)
def test_another_architecture_is_refused(
    tiny: Any, name: str, kind: str, message: str, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(BadModel, match=message):
        check(tiny, name, request.getfixturevalue(kind))


def test_names_and_files_that_are_none(tiny: Any, tiny_detr: Path, tmp_path: Path) -> None:
    with pytest.raises(BadModel, match="nowhere is neither a folder nor a repository"):
        check(tiny, DETECTOR, "nowhere")
    with pytest.raises(BadModel, match=r"\.\./nowhere is neither a folder nor a repository"):
        check(tiny, DETECTOR, "../nowhere")
    with pytest.raises(BadModel, match=r"file .*config\.json does not exist"):
        check(tiny, DETECTOR, tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(BadModel, match="is not valid JSON"):
        check(tiny, DETECTOR, tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BadModel, match="has no architecture"):
        check(tiny, DETECTOR, tmp_path)
    shutil.copy(tiny_detr / "config.json", tmp_path)
    with pytest.raises(BadModel, match=r"holds no model\.safetensors"):
        check(tiny, DETECTOR, tmp_path)
    shutil.copy(tiny_detr / "preprocessor_config.json", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(BadModel, match="cannot be loaded from"):
        tiny.made(DETECTOR, tmp_path)
    with pytest.raises(BadModel, match="its SHA-256 is"):
        check(tiny, DETECTOR, tiny_detr, sha256="0" * 64)


@pytest.mark.parametrize(
    ("name", "kind", "file", "content", "message"),
    [
        (DETECTOR, "tiny_detr", "model.safetensors", b"x" * 99, r"cannot be loaded from .*: it is cut off"),
        (DETECTOR, "tiny_detr", "preprocessor_config.json", None, "holds no image processor"),
        (CAPTIONER, "tiny_blip", "tokenizer.json", None, "holds no tokenizer"),
        (REWARD, "tiny_clip", "tokenizer.json", None, "holds no tokenizer"),
        (DETECTOR, "tiny_detr", "model.safetensors.index.json", b"{", "is not a valid index of weights"),
        (DETECTOR, "tiny_detr", "model.safetensors.index.json", b"[]", "is not a valid index of weights"),
        (DETECTOR, "tiny_detr", "model.safetensors.index.json", b"{}", "is not a valid index of weights"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused_before_it_is_loaded(
    name: str, kind: str, file: str, content: bytes | None, message: str, tiny: Any, hub: Any, tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    left_out = [file, "model.safetensors"] if "index" in file else [file]
    folder = tmp_path / "not-whole"
    shutil.copytree(request.getfixturevalue(kind), folder, ignore=shutil.ignore_patterns(*left_out))
    if content is not None:
        (folder / file).write_bytes(content)
    hub("someone/not-whole", folder)
    for argument in (folder, "someone/not-whole"):
        with pytest.raises(BadModel, match=message):
            check(tiny, name, argument)


def test_config_and_weights_of_two_models(tiny: Any, tiny_detr: Path, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    shutil.copytree(tiny_detr, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "id2label": {"0": "cat", "1": "dog"}}))
    with pytest.raises(BadModel, match=r"class_labels_cl\S+ has the shape \(3,\) in config\.json, but \(92,\)"):
        tiny.made(DETECTOR, folder)
    for names in ({"cat": 0}, ["cat"]):
        (folder / "config.json").write_text(json.dumps({**config, "id2label": names}))
        with pytest.raises(BadModel, match=r"config\.json does not number its classes"):
            tiny.OFFERED[DETECTOR].labels(str(folder), tiny.OFFERED[DETECTOR].options())


def test_a_gpu_that_is_not_there_is_told_by_the_plan(
    tiny: Any, tiny_detr: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(BadOption, match="device 'cuda': this machine has no CUDA device"):
        tiny.OFFERED[DETECTOR].loading.check(Setup(str(tiny_detr), tiny.OFFERED[DETECTOR].options(), "cuda"))


def test_weights_that_are_missing_are_not_made_up(tiny: Any, tiny_detr: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(tiny_detr, tmp_path / "less")
    weights = load_file(tmp_path / "less" / "model.safetensors")
    for key in [key for key in weights if key.startswith("class_labels_classifier")]:
        del weights[key]
    save_file(weights, tmp_path / "less" / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadModel, match=r"lacks 2 of the weights .*class_labels_classifier\.bias"):
        tiny.made(DETECTOR, tmp_path / "less")


def test_weights_in_parts(tiny: Any, tiny_detr: Path, tmp_path: Path, images: list[Image]) -> None:
    from transformers import DetrForObjectDetection

    parts = tmp_path / "parts"
    shutil.copytree(tiny_detr, parts, ignore=shutil.ignore_patterns("*.safetensors"))
    DetrForObjectDetection.from_pretrained(tiny_detr).save_pretrained(parts, max_shard_size="20KB")
    files = checkpoints.find_weights(parts)
    assert len(files) > 1
    info = tiny.OFFERED[DETECTOR]
    assert set(files) < set(info.loading.weights(str(parts), info.options()))
    queries = [Query((image,)) for image in images[:1]]
    (found,), (expected,) = (
        tiny.ask(tiny.made(DETECTOR, folder), "detect", queries) for folder in (parts, tiny_detr)
    )
    np.testing.assert_array_equal(found.class_probs, expected.class_probs)
    with pytest.raises(BadModel, match="sha256 needs a single weights file"):
        check(tiny, DETECTOR, parts, sha256="0" * 64)
    files[1].unlink()
    with pytest.raises(BadModel, match=rf"lacks {files[1].name}"):
        check(tiny, DETECTOR, parts)


class _Evil:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("evil"),))


def test_a_pickle_is_taken_only_with_its_digest_and_only_for_weights(
    tiny: Any, tiny_detr: Path, tmp_path: Path, images: list[Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load_file

    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "pickle"
    shutil.copytree(tiny_detr, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    weights = load_file(tiny_detr / "model.safetensors")
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(BadModel, match=r"pytorch_model\.bin is a pickle and needs its digest"):
        check(tiny, DETECTOR, folder)
    digest = digest_file(folder / "pytorch_model.bin")
    queries = [Query((image,)) for image in images[:1]]
    judges = (tiny.made(DETECTOR, folder, sha256=digest), tiny.made(DETECTOR, tiny_detr))
    (found,), (expected,) = (tiny.ask(judge, "detect", queries) for judge in judges)
    np.testing.assert_array_equal(found.class_probs, expected.class_probs)

    torch.save({**weights, "evil": _Evil()}, folder / "pytorch_model.bin")
    with pytest.raises(
        BadModel, match=r"cannot be loaded .*its pickle contains getattr, which does not belong in weights"
    ):
        tiny.made(DETECTOR, folder, sha256=digest_file(folder / "pytorch_model.bin"))
    assert not Path("evil").exists()


def test_code_that_comes_along_is_not_run(tiny: Any, tiny_detr: Path, tmp_path: Path) -> None:
    folder = tmp_path / "code"
    shutil.copytree(tiny_detr, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "modeling_mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Mine: pass\n")
    code = dict.fromkeys(("AutoConfig", "AutoModelForImageTextToText", "AutoProcessor"), "modeling_mine.Mine")
    config |= {"model_type": "mine", "auto_map": code}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadModel, match="cannot be loaded"):
        tiny.made(PREFERENCE, folder)
    assert not (tmp_path / "ran").exists()


def test_loading_draws_no_bar(tiny: Any, tiny_detr: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    tiny.made(DETECTOR, tiny_detr)
    assert capfd.readouterr() == ("", "")
