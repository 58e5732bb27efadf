"""Judge `timm`, on small checkpoints that timm itself saves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as PILImage
from safetensors.torch import load_file
from t2i_core.api import JudgeInfo, ObjectClass, Query, Setup
from t2i_core.api.errors import BadModel, BadOption, NotHere, UnknownName
from t2i_core.api.image import Image
from t2i_core.files.digest import digest_file
from t2i_core.testing import JudgeContract, sample_images
from t2i_timm import plugin
from t2i_timm.options import TimmOptions

(INFO,) = (i for i in plugin.t2i_judges() if i.name == "timm")
assert isinstance(INFO, JudgeInfo)


def made(argument: Any, batch_size: int | None = None, offline: bool = True, **options: Any) -> Any:
    return INFO.create(Setup(str(argument), TimmOptions(**options), "cpu", batch_size, offline))


def logits(judge: Any, images: Sequence[Image]) -> np.ndarray:
    queries = [Query((image,)) for image in images]
    answers = list(judge.observe("classify", iter(queries)))
    assert all(answered is query for (answered, _), query in zip(answers, queries, strict=True))
    return np.stack([scores.logits for _, scores in answers])


class TestContract(JudgeContract):
    module = "t2i_timm.plugin"
    name = "timm"
    tolerance = 1e-5

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_timm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_timm))


def test_logits_are_timms_own(tiny_timm: Path, tmp_path: Path) -> None:
    import timm

    images = sample_images(tmp_path, 7, 40)
    model = timm.create_model(f"local-dir:{tiny_timm}", pretrained=True).eval()
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    with torch.inference_mode():
        expected = model(torch.stack([transform(PILImage.open(i.path)) for i in images])).numpy()
    found = logits(made(tiny_timm, preprocessing="model"), images)
    assert expected.std() > 0.1
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_batch_changes_nothing(tiny_timm: Path, tmp_path: Path) -> None:
    images = sample_images(tmp_path, 7)
    one = logits(made(tiny_timm, 1), images)
    np.testing.assert_allclose(logits(made(tiny_timm, 7), images), one, atol=1e-5)
    assert np.abs(one[0] - one[1]).max() > 0.1


@pytest.mark.parametrize(("count", "name"), [(1000, "tench"), (11821, "benthos"), (21841, "organism")])
def test_labels_follow_from_the_number_of_classes(tmp_path: Path, count: int, name: str) -> None:
    config = {"architecture": "resnet50", "num_classes": count, "pretrained_cfg": {}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert INFO.labels
    found = INFO.labels(str(tmp_path), TimmOptions())
    assert (len(found), found[0].name) == (count, name)


def test_a_checkpoint_that_names_its_classes(tmp_path: Path, save_timm: Any) -> None:
    folder = save_timm(tmp_path / "own", 3, label_names=["n02084071", "cat.n.01", "cup"])
    judge = made(folder)
    assert INFO.labels
    assert INFO.labels(str(folder), TimmOptions()) == (
        ObjectClass("dog", "dog.n.01"), ObjectClass("cat", "cat.n.01"), ObjectClass("cup"),
    )  # fmt: skip
    assert judge.settings["labels"] == "the checkpoint's own"
    assert logits(judge, sample_images(tmp_path, 2)).shape == (2, 3)


def test_classes_that_nobody_names_are_refused(tmp_path: Path, save_timm: Any) -> None:
    folder = save_timm(tmp_path / "five", 5)
    with pytest.raises(BadModel, match="5 classes, which none of timm's lists"):
        INFO.loading.check(Setup(str(folder), TimmOptions()))  # type: ignore[misc]
    with pytest.raises(
        BadOption, match=rf"option labels=imagenet-1k: has 1000 classes, and timm:{folder} has 5 out"
    ):
        made(folder, labels="imagenet-1k")


def check(argument: Any, offline: bool = False, **options: Any) -> None:
    assert INFO.loading.check
    INFO.loading.check(Setup(str(argument), TimmOptions(**options), offline=offline))


def test_labels_that_are_not_as_many_as_the_outputs_are_told_by_the_plan(tiny_timm: Path) -> None:
    for argument in (tiny_timm, "resnet50.a1_in1k"):
        with pytest.raises(
            BadOption, match=r"labels=imagenet-12k: has 11821 classes, and timm:\S+ has 1000 outputs"
        ):
            check(argument, labels="imagenet-12k")
        check(argument, labels="imagenet-1k")
    with pytest.raises(BadModel, match="it has no classes"):
        check("vit_base_patch16_224.mae", labels="imagenet-1k")
    with pytest.raises(BadModel, match=r"cannot be loaded from .*size mismatch for head\.weight"):
        check(tiny_timm, checkpoint=tiny_timm / "model.safetensors", labels="imagenet-12k")


def test_weights_that_do_not_fit_are_told_by_the_plan(tiny_timm: Path, tmp_path: Path) -> None:
    check(tiny_timm, offline=True)
    check(tiny_timm, checkpoint=tiny_timm / "model.safetensors")
    torch.save(load_file(tiny_timm / "model.safetensors"), tmp_path / "own.pth")
    check(tiny_timm, checkpoint=tmp_path / "own.pth")
    with pytest.raises(BadModel, match=r"timm:resnet18: cannot be loaded from .*own\.pth"):
        check("resnet18", checkpoint=tmp_path / "own.pth")
    with pytest.raises(BadModel, match=r"cannot be loaded from .*own\.pth"):
        check(other_config(tiny_timm, tmp_path / "a"), checkpoint=tmp_path / "own.pth")
    with pytest.raises(BadModel, match=r"cannot be loaded from .*model\.safetensors .*size mismatch"):
        check(other_config(tiny_timm, tmp_path / "b"))


def other_config(folder: Path, other: Path) -> Path:
    """A copy of a folder whose config is another network's."""
    shutil.copytree(folder, other)
    config = json.loads((other / "config.json").read_text())
    config["model_args"]["embed_dim"] = 48
    (other / "config.json").write_text(json.dumps(config))
    return other


def test_the_plan_does_not_load_valid_weights(tiny_timm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real models have a gigabyte: tensors are compared by names and shapes alone."""
    looked_at = []

    def seen(network: torch.nn.Module, *others: Any) -> None:
        looked_at.append({tensor.device.type for tensor in network.state_dict().values()})

    monkeypatch.setattr("t2i_timm.classifier.check_head", seen)
    check(tiny_timm)
    assert looked_at == [{"meta"}]
    check(tiny_timm, sha256=digest_file(tiny_timm / "model.safetensors"))
    assert looked_at == [{"meta"}], "a file that is known by its digest"


def test_a_path_that_leads_nowhere_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("huggingface_hub.constants", "huggingface_hub.file_download.constants"):
        monkeypatch.setattr(f"{module}.HF_HUB_CACHE", str(tmp_path))
    assert INFO.loading.resolve
    setup = Setup("ck/nope", TimmOptions(), offline=True)
    for asked in (INFO.loading.resolve, INFO.loading.check, INFO.create):
        assert asked
        with pytest.raises(
            NotHere, match="folder ck/nope does not exist; timm:ck/nope: ck/nope is not on this mac"
        ):
            asked(setup)
    monkeypatch.setattr("t2i_torch_support.hub_files.find_outage", lambda: "no route")
    with pytest.raises(NotHere, match="folder ck/nope does not exist; no network, and timm:ck/nope"):
        INFO.loading.resolve(Setup("ck/nope", TimmOptions()))
    with pytest.raises(BadModel, match=r"timm:ck/j/nope: ck/j/nope is not a folder with a config\.json of timm"):
        INFO.loading.resolve(Setup("ck/j/nope", TimmOptions()))


def test_weights_of_a_file(tiny_timm: Path, tmp_path: Path) -> None:
    torch.save({k: v * 1.5 for k, v in load_file(tiny_timm / "model.safetensors").items()}, tmp_path / "more.pth")
    images = sample_images(tmp_path, 2)
    changed = logits(made(tiny_timm, checkpoint=tmp_path / "more.pth"), images)
    assert np.abs(changed - logits(made(tiny_timm), images)).max() > 0.1
    with pytest.raises(BadModel, match=r"cannot be loaded from .*more\.pth"):
        made("resnet18.a1_in1k", checkpoint=tmp_path / "more.pth")


class _Rude:
    def __reduce__(self) -> Any:
        return (print, ("code of a pickle has run",))


def test_a_pickle_of_more_than_weights_is_refused(
    tiny_timm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({"state_dict": _Rude()}, tmp_path / "rude.pth")
    for refused in (made, check):
        with pytest.raises(
            BadModel, match=r"rude\.pth .*its pickle contains \S*print, which does not belong in"
        ) as error:
            refused(tiny_timm, checkpoint=tmp_path / "rude.pth")
        assert "weights_only" not in str(error.value)
    assert "has run" not in capsys.readouterr().out


def test_files_are_checked_before_anything_is_loaded(tiny_timm: Path, tmp_path: Path) -> None:
    for argument in (tiny_timm, "resnet18.a1_in1k"):
        with pytest.raises(BadModel, match=r"file .*none\.pth does not exist"):
            check(argument, checkpoint=tmp_path / "none.pth")
    folder = tmp_path / "bad"
    shutil.copytree(tiny_timm, folder)
    (folder / "model.safetensors").write_bytes((tiny_timm / "model.safetensors").read_bytes()[:-10])
    with pytest.raises(BadModel, match=r"cannot be loaded from .*: it has \d+ bytes and should have"):
        check(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadModel, match="holds no weights"):
        check(folder)


def test_a_gpu_that_is_not_there_is_told_by_the_plan(tiny_timm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(BadOption, match="device 'cuda': this machine has no CUDA device"):
        INFO.loading.check(Setup(str(tiny_timm), TimmOptions(), "cuda"))  # type: ignore[misc]


def test_a_digest_that_is_another_is_refused(tiny_timm: Path) -> None:
    with pytest.raises(BadModel, match="its SHA-256 is"):
        made(tiny_timm, sha256="0" * 64)


@pytest.mark.parametrize("preprocessing", ["paper", "reference"])
def test_the_papers_preprocessings(tiny_timm: Path, tmp_path: Path, preprocessing: str) -> None:
    """Held against the arithmetic written out with Pillow and numpy."""
    import timm

    images = sample_images(tmp_path, 3, 50)
    model = timm.create_model(f"local-dir:{tiny_timm}", pretrained=True).eval()
    config = timm.data.resolve_model_data_config(model)
    tensors = []
    for image in images:
        picture = PILImage.open(image.path).convert("RGB")
        if preprocessing == "paper":
            picture = picture.resize((32, 32), PILImage.Resampling.BILINEAR)
        else:  # saved at the model's size, and then prepared as any picture of that size
            saved = picture.resize((32, 32), PILImage.Resampling.BICUBIC)
            larger = int(np.floor(32 / config["crop_pct"]))
            resized = saved.resize((larger, larger), PILImage.Resampling.BICUBIC)
            edge = round((larger - 32) / 2)
            picture = resized.crop((edge, edge, edge + 32, edge + 32))
        pixels = (np.asarray(picture, np.float32) / 255 - config["mean"]) / config["std"]
        tensors.append(torch.tensor(pixels, dtype=torch.float32).permute(2, 0, 1))
    with torch.inference_mode():
        expected = model(torch.stack(tensors)).numpy()
    found = logits(made(tiny_timm, preprocessing=preprocessing), images)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.abs(found - logits(made(tiny_timm, preprocessing="model"), images)).max() > 1e-3


def test_names_are_checked_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'resnet50\.a1_in1k'"):
        check("resnet50.a1_in1q")
    with pytest.raises(UnknownName, match="did you mean"):
        check("resnet5o.a1_in1k")
    with pytest.raises(BadModel, match="it has no classes"):
        check("vit_base_patch16_224.mae")
    with pytest.raises(BadModel, match=r"not a folder with a config\.json"):
        check(str(tmp_path))
    check("resnet50.a1_in1k")


def test_offline_says_what_to_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", str(tmp_path))
    for argument, what in (
        ("resnet50.a1_in1k", r"model\.safetensors of timm/resnet50\.a1_in1k"),
        ("someone/somewhat", "someone/somewhat"),
    ):
        with pytest.raises(BadModel, match=f"{what} .*t2i prefetch timm:{argument}"):
            INFO.loading.check(Setup(argument, TimmOptions(), offline=True))  # type: ignore[misc]


def put(cache: Path, repository: str, content: Path) -> str:
    """Lay a repository into the hub's cache as its client does."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    place = cache / f"models--{repository}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(commit)
    (place / "snapshots").mkdir()
    (place / "snapshots" / commit).symlink_to(content)
    return commit


def test_other_weights_for_a_repository_of_the_hub_ask_nothing_of_it(
    tiny_timm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """timm itself would ask the hub for the config of a repository that it is named."""
    for module in ("huggingface_hub.constants", "huggingface_hub.file_download.constants"):
        monkeypatch.setattr(f"{module}.HF_HUB_CACHE", str(tmp_path / "cache"))
    asked = []
    monkeypatch.setattr("timm.models._hub.hf_hub_download", lambda *args, **kwargs: asked.append(args))
    options = TimmOptions(checkpoint=tiny_timm / "model.safetensors")
    setup = Setup("someone/tiny", options, "cpu", offline=True)
    assert INFO.loading.prefetch
    assert INFO.loading.resolve
    assert INFO.loading.weights
    for refused in (INFO.loading.prefetch, INFO.loading.resolve, INFO.create):
        with pytest.raises(BadModel, match=r"someone/tiny is not on this machine.*t2i prefetch"):
            refused(setup)
    config = tmp_path / "config"
    config.mkdir()
    (config / "config.json").write_text((tiny_timm / "config.json").read_text())
    commit = put(tmp_path / "cache", "someone--tiny", config)
    INFO.loading.prefetch(setup)
    settled = INFO.loading.resolve(setup)
    assert list(INFO.loading.weights("someone/tiny", settled)) == [f"someone/tiny@{commit}", options.checkpoint]
    images = sample_images(tmp_path, 2)
    judge = INFO.create(Setup("someone/tiny", settled, "cpu", offline=True))
    np.testing.assert_array_equal(logits(judge, images), logits(made(tiny_timm), images))
    assert asked == []


def test_names_of_timm_are_settled_to_a_commit_of_their_repository(
    tiny_timm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    commit = put(tmp_path, "timm--resnet50.a1_in1k", tiny_timm)
    assert INFO.loading.resolve
    assert INFO.loading.weights
    settled = INFO.loading.resolve(Setup("resnet50", TimmOptions(), offline=True))
    assert list(INFO.loading.weights("resnet50", settled)) == [f"timm/resnet50.a1_in1k@{commit}"]
    same = TimmOptions(revision="f" * 40)
    assert INFO.loading.resolve(Setup("resnet50", same, offline=True)) == same


def test_files_of_this_machine_have_no_revision(tiny_timm: Path) -> None:
    assert INFO.loading.resolve
    own = TimmOptions(revision="v2", checkpoint=tiny_timm / "model.safetensors")
    for argument, options in ((str(tiny_timm), TimmOptions(revision="v2")), ("resnet50", own)):
        with pytest.raises(BadOption, match=rf"timm:{argument}: {tiny_timm}.* leave out the option revision=v2"):
            INFO.loading.resolve(Setup(argument, options))


def test_weights_of_the_hub_are_found_in_its_cache(
    tiny_timm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache as the hub's client lays it out: what is there is neither fetched nor asked for."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", str(tmp_path))
    commit = put(tmp_path, "someone--tiny", tiny_timm)
    setup = Setup("someone/tiny", TimmOptions(), "cpu", offline=True)
    assert INFO.loading.prefetch
    INFO.loading.prefetch(setup)
    assert INFO.loading.resolve
    assert INFO.loading.weights
    settled = INFO.loading.resolve(setup)
    assert list(INFO.loading.weights("someone/tiny", settled)) == [f"someone/tiny@{commit}"]
    judge = INFO.create(setup)
    assert judge.settings["commit"] == commit  # type: ignore[attr-defined]
    images = sample_images(tmp_path, 2)
    np.testing.assert_array_equal(logits(judge, images), logits(made(tiny_timm), images))


def test_memory_that_runs_out_halves_the_batch(tiny_timm: Path, tmp_path: Path) -> None:
    images = sample_images(tmp_path, 7)
    expected = logits(made(tiny_timm), images)
    judge = made(tiny_timm)
    network, sizes = judge._network, []

    def small(batch: torch.Tensor) -> torch.Tensor:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more")
        return network(batch)

    judge._network = small
    np.testing.assert_allclose(logits(judge, images), expected, atol=1e-5)
    assert sizes == [7, 3, 1, 1, 1, 1, 1, 1, 1]
    assert judge.settings["batch_size"] == 1
    given = made(tiny_timm, batch_size=6)
    given._network = small
    np.testing.assert_allclose(logits(given, images), expected, atol=1e-5)
    assert sizes[9:] == [6, 3, 1, 1, 1, 1, 1, 1, 1], "one that was given as well"


def test_another_error_is_not_a_lack_of_memory(tiny_timm: Path, tmp_path: Path) -> None:
    judge = made(tiny_timm)

    def broken(batch: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("shapes do not fit")

    judge._network = broken
    with pytest.raises(RuntimeError, match="do not fit"):
        logits(judge, sample_images(tmp_path, 2))


def test_other_weights_are_another_judge(tiny_timm: Path, tmp_path: Path) -> None:
    assert INFO.loading.weights
    first = list(INFO.loading.weights(str(tiny_timm), TimmOptions()))
    assert [p.name for p in first if isinstance(p, Path)] == ["config.json", "model.safetensors"]
    assert list(INFO.loading.weights("a/b", TimmOptions(revision="v1"))) == ["a/b@v1"]
    assert list(INFO.loading.weights("resnet50", TimmOptions())) == ["timm/resnet50.a1_in1k"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(tiny_timm: Path, tmp_path: Path, dtype: str) -> None:
    images = sample_images(tmp_path, 2)
    found = logits(made(tiny_timm, dtype=dtype), images)
    assert found.dtype == np.float32
    difference = np.abs(found - logits(made(tiny_timm), images)).max()
    assert 0 < difference < 0.2
