"""Judge `open-clip`, on a small checkpoint that open_clip itself saves."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image as PILImage
from t2i_core.api import Embedding, Failure, JudgeInfo, Preset, Query, Setup
from t2i_core.api.errors import BadModel, BadOption, NotHere, UnknownName
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract, sample_images
from t2i_open_clip import checkpoint_files, embedder, plugin, sources
from t2i_open_clip.options import ClipOptions

OFFERED = {offered.name: offered for offered in plugin.t2i_judges()}
INFO = OFFERED["open-clip"]
assert isinstance(INFO, JudgeInfo)
TEXTS = ("a photo of a dog", "a photo of a cat", "Ein Haus, ÜBER den Wolken", "")


def made(argument: Any, batch_size: int | None = None, **options: Any) -> Any:
    return INFO.create(Setup(str(argument), ClipOptions(**options), "cpu", batch_size, offline=True))


@pytest.fixture(scope="module")
def plain(tiny_clip: Path) -> Any:
    """The small CLIP with default options, made once."""
    return made(tiny_clip)


def queries(images: Sequence[Image] = (), texts: Sequence[str] = ()) -> list[Query]:
    return [*(Query((image,)) for image in images), *(Query(texts=(text,)) for text in texts)]


def vectors(judge: Any, asked: Sequence[Query]) -> np.ndarray:
    answers = list(judge.observe("embed", iter(asked)))
    assert all(answered is query for (answered, _), query in zip(answers, asked, strict=True))
    return np.stack([embedding.values for _, embedding in answers])


def check(argument: str, offline: bool = False, **options: Any) -> None:
    assert INFO.loading.check
    INFO.loading.check(Setup(argument, ClipOptions(**options), offline=offline))


class TestContract(JudgeContract):
    module = "t2i_open_clip.plugin"
    name = "open-clip"
    tolerance = 1e-5

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_clip))


def test_vectors_are_open_clips_own(tiny_clip: Path, tmp_path: Path) -> None:
    images = sample_images(tmp_path, 7, 40)
    model, transform = open_clip.create_model_from_pretrained(f"local-dir:{tiny_clip}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{tiny_clip}")
    with torch.inference_mode():
        of_images = model.eval().encode_image(torch.stack([transform(PILImage.open(i.path)) for i in images]))
        of_texts = model.encode_text(tokenizer(list(TEXTS)))
    expected = torch.cat([of_images, of_texts]).numpy()
    judge = made(tiny_clip)
    np.testing.assert_allclose(vectors(judge, queries(images, TEXTS)), expected, atol=1e-5)
    lengths = np.linalg.norm(expected, axis=1)
    assert np.abs(lengths - 1).min() > 0.1  # they are not normalised
    assert judge.settings["logit_scale"] == pytest.approx(1 / 0.07)
    assert judge.settings["preprocessing"]["resize_mode"] == "squash"
    assert json.loads(json.dumps(judge.settings)) == judge.settings


def test_batch_and_order_change_nothing(tiny_clip: Path, tmp_path: Path) -> None:
    asked = queries(sample_images(tmp_path, 4), TEXTS)
    mixed = asked[::2] + asked[1::2]
    one = vectors(made(tiny_clip, 1), asked)
    seven = vectors(made(tiny_clip, 7), mixed)
    np.testing.assert_allclose(np.concatenate([one[::2], one[1::2]]), seven, atol=1e-5)


def test_a_text_is_embedded_once_a_batch(tiny_clip: Path) -> None:
    judge = made(tiny_clip, 8)
    encode, seen = judge._network.encode_text, []

    def counted(tokens: torch.Tensor, normalize: bool) -> torch.Tensor:
        seen.append(len(tokens))
        return encode(tokens, normalize)

    judge._network.encode_text = counted
    found = vectors(judge, queries(texts=["a dog", "a cat", "a dog", "a dog"]))
    assert seen == [2]
    np.testing.assert_array_equal(found[0], found[3])
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_images_that_cannot_be_embedded_fail_alone(plain: Any, tmp_path: Path) -> None:
    (image,) = sample_images(tmp_path, 1)
    asked = [Query(), Query((image,)), Query((image,), ("a dog",)), Query(texts=("a dog", "a cat"))]
    answers = [type(answer) for _, answer in plain.observe("embed", asked)]
    assert answers == [Failure, Embedding, Failure, Failure]


def test_a_text_that_is_cut_is_said(tiny_clip: Path, caplog: pytest.LogCaptureFixture) -> None:
    judge = made(tiny_clip)
    fits, longer = "dog " * 75, "dog " * 76
    with caplog.at_level(logging.WARNING):
        found = [answer for _, answer in judge.observe("embed", queries(texts=[fits, longer, "dog " * 90]))]
    np.testing.assert_allclose(found[0].values, found[1].values, atol=1e-6)  # what was cut is not seen
    assert [answer.cut_to for answer in found] == [None, 77, 77]
    assert [record.getMessage() for record in caplog.records] == [
        f"a text of {n} tokens is cut to the 77 that are read: {'dog ' * 13 + 'dog...'!r}" for n in (78, 92)
    ]


def test_weights_of_a_file(tiny_clip: Path, plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MODEL/FILE takes open_clip's architecture, and its usual preprocessing."""
    (tmp_path / "tiny-test.json").write_text(
        json.dumps(json.loads((tiny_clip / "open_clip_config.json").read_text())["model_cfg"])
    )
    monkeypatch.setattr("open_clip.factory._MODEL_CONFIG_PATHS", [])
    monkeypatch.setattr("open_clip.factory._MODEL_CONFIGS", {})
    open_clip.add_model_config(tmp_path / "tiny-test.json")
    argument = f"tiny-test/{tiny_clip / 'open_clip_model.safetensors'}"
    check(argument)
    judge = made(argument)
    np.testing.assert_array_equal(vectors(judge, queries(texts=TEXTS)), vectors(plain, queries(texts=TEXTS)))
    assert judge.settings["preprocessing"]["resize_mode"] == "shortest"
    assert judge.settings["preprocessing"]["size"] == [32, 32]


def test_weights_of_a_tag(tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Published weights bring their own preprocessing and activations, whatever the architecture's config says."""
    hub(tmp_path, monkeypatch, "someone--tiny", tiny_clip)
    (tmp_path / "tiny-test.json").write_text(
        json.dumps(json.loads((tiny_clip / "open_clip_config.json").read_text())["model_cfg"])
    )
    monkeypatch.setattr("open_clip.factory._MODEL_CONFIG_PATHS", [])
    monkeypatch.setattr("open_clip.factory._MODEL_CONFIGS", {})
    open_clip.add_model_config(tmp_path / "tiny-test.json")
    tag = {"hf_hub": "someone/tiny/", "mean": (0.1, 0.2, 0.3), "std": (1, 1, 1), "resize_mode": "longest"}
    monkeypatch.setitem(
        open_clip.pretrained._PRETRAINED, "tiny-test", {"plain": tag, "quick": {**tag, "quick_gelu": True}}
    )
    texts = queries(texts=TEXTS)
    plain, quick = made("tiny-test/plain"), made("tiny-test/quick")
    np.testing.assert_array_equal(vectors(plain, texts), vectors(made(tiny_clip), texts))
    assert plain.settings["preprocessing"] == {
        "size": [32, 32], "mode": "RGB", "mean": [0.1, 0.2, 0.3], "std": [1, 1, 1], "interpolation": "bicubic",
        "resize_mode": "longest", "fill_color": 0,
    }  # fmt: skip
    assert (plain.settings["quick_gelu"], quick.settings["quick_gelu"]) == (False, True)
    assert np.abs(vectors(quick, texts) - vectors(plain, texts)).max() > 1e-4
    np.testing.assert_array_equal(vectors(made(tiny_clip, quick_gelu=True), texts), vectors(quick, texts))


def test_every_preset_runs_with_the_activations_it_was_trained_with() -> None:
    presets = [p for p in OFFERED.values() if isinstance(p, Preset) and p.of == "t2i-open-clip/open-clip"]
    assert [p.name for p in presets] == [
        "clip-vit-b32",
        "clip-vit-b16",
        "clip-vit-l14",
        "clip-vit-l14-336",
        "openclip-vit-h14",
    ]
    for preset in presets:
        assert preset.argument
        source = sources.find(preset.argument)
        config = open_clip.get_model_config(source.model)
        assert bool(config.get("quick_gelu")) == bool(source.tag.get("quick_gelu"))
        assert source.tag["hf_hub"].endswith("/")  # in its own repository, under open_clip's own names
        assert checkpoint_files.REPOSITORIES[preset.argument] == source.repository_and_name[0]
        assert config["text_cfg"]["context_length"] == 77


def hub(folder: Path, monkeypatch: pytest.MonkeyPatch, repository: str, content: Path) -> str:
    """A cache as the hub's client lays it out, with one repository."""
    for module in ("constants", "file_download.constants"):
        monkeypatch.setattr(f"huggingface_hub.{module}.HF_HUB_CACHE", str(folder / "cache"))
    commit = "0123456789abcdef0123456789abcdef01234567"
    place = folder / "cache" / f"models--{repository}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(commit)
    (place / "snapshots").mkdir()
    (place / "snapshots" / commit).symlink_to(content)
    return commit


def test_a_repository_of_the_hub_is_found_in_its_cache(
    tiny_clip: Path, plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub(tmp_path, monkeypatch, "someone--tiny", tiny_clip)
    assert INFO.loading.prefetch
    INFO.loading.prefetch(Setup("hf-hub:someone/tiny", ClipOptions(), offline=True))
    assert INFO.loading.resolve
    assert INFO.loading.weights
    settled = INFO.loading.resolve(Setup("hf-hub:someone/tiny", ClipOptions(), offline=True))
    assert list(INFO.loading.weights("hf-hub:someone/tiny", settled)) == [f"hf-hub:someone/tiny@{commit}"]
    judge = made("hf-hub:someone/tiny", revision=commit)
    assert judge.settings["commit"] == commit
    asked = queries(sample_images(tmp_path, 2), TEXTS)
    np.testing.assert_array_equal(vectors(judge, asked), vectors(plain, asked))
    with pytest.raises(BadModel, match=r"at v9 .*t2i prefetch open-clip:hf-hub:someone/tiny"):
        made("hf-hub:someone/tiny", revision="v9")


def test_names_of_open_clip_are_settled_to_a_commit_of_their_repository(
    tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert INFO.loading.resolve
    for argument, repository in (
        (OFFERED["clip-vit-b32"].argument, "timm--vit_base_patch32_clip_224.openai"),
        ("ViT-B-32/laion2b_s34b_b79k", "laion--CLIP-ViT-B-32-laion2B-s34B-b79K"),
    ):
        commit = hub(tmp_path / repository, monkeypatch, repository, tiny_clip)
        assert INFO.loading.resolve(Setup(str(argument), ClipOptions(), offline=True)).revision == commit
        with pytest.raises(BadModel, match=r"at v9 .*t2i prefetch"):
            INFO.loading.resolve(Setup(str(argument), ClipOptions(revision="v9"), offline=True))
    assert INFO.loading.resolve(Setup(str(tiny_clip), ClipOptions(), offline=True)) == ClipOptions()


def test_files_of_this_machine_have_no_revision(tiny_clip: Path) -> None:
    assert INFO.loading.resolve
    for own in (tiny_clip, f"ViT-B-32/{tiny_clip / 'open_clip_model.safetensors'}"):
        with pytest.raises(BadOption, match=rf"open-clip:{own}: .* leave out the option revision=v2"):
            INFO.loading.resolve(Setup(str(own), ClipOptions(revision="v2")))


def test_a_file_named_like_published_weights_is_not_taken_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("openai").touch()
    Path("own.pt").touch()
    assert INFO.loading.weights
    assert list(INFO.loading.weights("ViT-B-32/openai", ClipOptions(revision="v2"))) == ["ViT-B-32/openai@v2"]
    assert list(INFO.loading.weights("ViT-B-32/./openai", ClipOptions())) == [Path("openai")]
    assert list(INFO.loading.weights("ViT-B-32/own.pt", ClipOptions())) == [Path("own.pt")]


def test_names_are_checked_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'ViT-B-32'"):
        check("ViT-B32/openai")
    with pytest.raises(UnknownName, match="did you mean 'openai'"):
        check("ViT-B-32/open_ai")
    with pytest.raises(UnknownName, match="it has laion2b_s32b_b79k"):
        check("ViT-H-14")
    with pytest.raises(BadModel, match=r"not a folder with open_clip_config\.json"):
        check(str(tmp_path))
    check("ViT-B-32/openai")


def test_offline_says_what_to_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("constants", "file_download.constants"):
        monkeypatch.setattr(f"huggingface_hub.{module}.HF_HUB_CACHE", str(tmp_path))
    preset = OFFERED["clip-vit-b32"].argument
    with pytest.raises(
        BadModel, match=rf"timm/vit_base_patch32_clip_224\.openai .*t2i prefetch open-clip:{preset}"
    ):
        check(str(preset), offline=True)
    with pytest.raises(BadModel, match=r"open_clip_config\.json of someone/tiny .*not on this machine"):
        check("hf-hub:someone/tiny", offline=True)


def test_a_tokenizer_that_is_not_there_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("constants", "file_download.constants"):
        monkeypatch.setattr(f"huggingface_hub.{module}.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        BadModel, match=r"its tokenizer is not on this machine.*t2i prefetch open-clip:ViT-B-16-SigLIP/webli"
    ):
        sources.tokenizer(sources.find("ViT-B-16-SigLIP/webli"), ClipOptions(), offline=True)


def test_without_a_network_a_missing_tokenizer_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries would ask the hub again and again, for each of its files."""
    for module in ("constants", "file_download.constants"):
        monkeypatch.setattr(f"huggingface_hub.{module}.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it waits"))
    siglip, roberta = sources.find("ViT-B-16-SigLIP/webli"), sources.find("roberta-ViT-B-32/laion2b_s12b_b32k")
    for what, ask in (
        ("its tokenizer", lambda: sources.tokenizer(siglip, ClipOptions(), offline=False)),
        ("the config of its text tower roberta-base", lambda: sources.text_config(roberta, ClipOptions(), False)),
    ):
        with pytest.raises(NotHere, match=rf"^no network, and open-clip:\S+ \({what}\) is not on this machine"):
            ask()


def test_a_tokenizer_that_is_here_asks_nothing_of_the_hub(
    tiny_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2i_torch_support.hub_files.find_outage", lambda: pytest.fail("it asks"))
    source = sources.find(str(tiny_clip))
    assert sources.tokenizer(source, ClipOptions(), offline=False)(["a dog"]).shape == (1, 77)


def test_offline_a_missing_tokenizer_is_told_by_the_plan(
    tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights are here, what reads texts is not: no image is to be made before that is known."""
    content = tmp_path / "content"
    shutil.copytree(tiny_clip, content)
    config = json.loads((content / checkpoint_files.CONFIG).read_text())
    config["model_cfg"]["text_cfg"]["hf_tokenizer_name"] = "someone/words"
    (content / checkpoint_files.CONFIG).write_text(json.dumps(config))
    hub(tmp_path, monkeypatch, "someone--tiny", content)
    with pytest.raises(NotHere, match=r"its tokenizer is not on this machine.*t2i prefetch open-clip:hf-hub:some"):
        check("hf-hub:someone/tiny", offline=True)
    with pytest.raises(BadModel, match=f"its tokenizer cannot be had from {content}"):
        check(str(content), offline=True)


def test_memory_that_runs_out_halves_the_batch(
    tiny_clip: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = queries(sample_images(tmp_path, 6), [*TEXTS, "dog " * 99])
    expected = vectors(made(tiny_clip), asked)
    judge = made(tiny_clip)
    caplog.clear()
    encode, sizes = judge._network.encode_image, []

    def small(images: torch.Tensor, normalize: bool) -> torch.Tensor:
        sizes.append(len(images))
        if len(images) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more")
        return encode(images, normalize)

    judge._network.encode_image = small
    np.testing.assert_allclose(vectors(judge, asked), expected, atol=1e-5)
    assert sizes[0] == 6
    assert max(sizes[-2:]) <= 3
    assert judge.settings["batch_size"] < 6
    assert len(caplog.records) == 1  # of a text that is cut, once


def test_files_without_weights_are_refused(tiny_clip: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "open_clip_config.json").write_text((tiny_clip / "open_clip_config.json").read_text())
    with pytest.raises(BadModel, match="holds no weights"):
        made(folder)
    (folder / "open_clip_model.safetensors").write_bytes(b"nothing")
    with pytest.raises(BadModel, match="cannot be loaded"):
        made(folder)
    for offline in (True, False):
        with pytest.raises(BadModel, match=r"cannot be loaded from .*: it is cut off"):
            check(str(folder), offline)
    with pytest.raises(BadModel, match="its SHA-256 is"):
        made(tiny_clip, sha256="0" * 64)
    for config in ("{", "[]", '{"model_cfg": {}}', '{"model_cfg": {"text_cfg": 3}}'):
        (folder / "open_clip_config.json").write_text(config)
        with pytest.raises(BadModel, match=r"open_clip_config\.json is not a valid config of open_clip"):
            check(str(folder))


class _Evil:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("evil"),))


def test_a_pickle_of_more_than_weights_is_refused(
    tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_clip, tmp_path / "bad", ignore=shutil.ignore_patterns("*.safetensors"))
    torch.save({"a": _Evil()}, tmp_path / "bad" / "open_clip_pytorch_model.bin")
    with pytest.raises(BadModel, match=r"its pickle contains \S+, which does not belong in weights") as error:
        made(tmp_path / "bad")
    assert "weights_only" not in str(error.value)
    assert not Path("evil").exists()


@pytest.mark.long
def test_weights_that_do_not_fit_are_told_by_the_plan(tiny_clip: Path, tmp_path: Path) -> None:
    check(str(tiny_clip))
    check(str(tiny_clip), offline=True, dtype="float16")
    file = tiny_clip / "open_clip_model.safetensors"
    with pytest.raises(
        BadModel, match=r"open-clip:ViT-B-32/\S+: cannot be loaded from .*open_clip_model\.safetensors"
    ):
        check(f"ViT-B-32/{file}")
    torch.save({"a": _Evil()}, tmp_path / "evil.pt")
    with pytest.raises(BadModel, match=r"its pickle contains \S+, which does not belong in weights"):
        check(f"ViT-B-32/{tmp_path / 'evil.pt'}")
    other = tmp_path / "other"
    shutil.copytree(tiny_clip, other)
    config = json.loads((other / checkpoint_files.CONFIG).read_text())
    config["model_cfg"]["vision_cfg"]["width"] = 48
    (other / checkpoint_files.CONFIG).write_text(json.dumps(config))
    with pytest.raises(BadModel, match=r"cannot be loaded from .*size mismatch for visual"):
        check(str(other))


def test_the_plan_does_not_load_valid_weights(tiny_clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real models have gigabytes: tensors are compared by names and shapes alone."""
    load, looked_at = embedder.load, []

    def seen(*args: Any) -> Any:
        network = load(*args)
        looked_at.append({tensor.device.type for tensor in network.state_dict().values()})
        return network

    monkeypatch.setattr(embedder, "load", seen)
    check(str(tiny_clip))
    check(str(OFFERED["clip-vit-b32"].argument))
    assert looked_at == [{"meta"}]


def test_a_gpu_that_is_not_there_is_told_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert INFO.loading.check
    with pytest.raises(BadOption, match="device 'cuda': this machine has no CUDA device"):
        INFO.loading.check(Setup(str(OFFERED["clip-vit-b32"].argument), ClipOptions(), "cuda"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(tiny_clip: Path, plain: Any, tmp_path: Path, dtype: str) -> None:
    asked = queries(sample_images(tmp_path, 2), TEXTS)
    found = vectors(made(tiny_clip, dtype=dtype), asked)
    assert found.dtype == np.float32
    full = vectors(plain, asked)
    assert 0 < np.abs(found - full).max() < 0.05 * np.abs(full).max()


def test_other_weights_are_another_judge(tiny_clip: Path) -> None:
    assert INFO.loading.weights
    first = list(INFO.loading.weights(str(tiny_clip), ClipOptions()))
    assert [p.name for p in first if isinstance(p, Path)] == [
        "open_clip_config.json",
        "open_clip_model.safetensors",
    ]
    assert list(INFO.loading.weights("ViT-B-32/openai", ClipOptions(revision="v1"))) == ["ViT-B-32/openai@v1"]


def test_a_path_that_leads_nowhere_is_told_as_one() -> None:
    said = r"unknown model of open_clip 'ck'.*[Ff]older ck/j/nope does not exist either"
    with pytest.raises(UnknownName, match=said):
        sources.find("ck/j/nope")
