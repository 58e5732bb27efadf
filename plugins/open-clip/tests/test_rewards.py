"""Judges `hpsv2`, `hpsv21` and `laion-aesthetic`, on small networks in the published layouts."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image as PILImage
from t2i_core.api import Failure, JudgeInfo, Preset, Query, Reward, Setup
from t2i_core.api.errors import BadModel, BadOption, NotHere
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract, sample_images
from t2i_open_clip import aesthetic_head, hpsv2, hpsv2_files, plugin
from t2i_open_clip.options import AestheticOptions, Hpsv2Options

OFFERED = {offered.name: offered for offered in plugin.t2i_judges()}
HPS, AESTHETIC = OFFERED["hpsv2"], OFFERED["laion-aesthetic"]
assert isinstance(HPS, JudgeInfo)
assert isinstance(AESTHETIC, JudgeInfo)
TINY = "tiny-hps"
CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 224, "layers": 2, "width": 32, "head_width": 16, "patch_size": 56},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
TEXTS = ("a red cat", "two dogs", "word " * 90)
PUBLISHED = json.loads((Path(__file__).parent / "hpsv2_images.json").read_text(encoding="utf-8"))
"""Images as the package `hpsv2` shows them to its network."""


@pytest.fixture
def architecture(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-in for ViT-H/14: the smallest network of the same kind that sees 224 pixels."""
    folder = tmp_path_factory.mktemp("architecture")
    (folder / f"{TINY}.json").write_text(json.dumps(CONFIG))
    monkeypatch.setattr("open_clip.factory._MODEL_CONFIG_PATHS", [])
    monkeypatch.setattr("open_clip.factory._MODEL_CONFIGS", {})
    open_clip.add_model_config(folder / f"{TINY}.json")
    monkeypatch.setattr(hpsv2_files, "ARCHITECTURE", TINY)


@pytest.fixture(scope="session")
def hps_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights as published: a pickle of a dictionary, whose key `state_dict` holds them."""
    torch.manual_seed(0)
    file = tmp_path_factory.mktemp("hps") / "HPS_v2_compressed.pt"
    model = open_clip.CLIP(**CONFIG)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)
    torch.save({"state_dict": model.state_dict()}, file)
    return file


class TestHpsv2(JudgeContract):
    module = "t2i_open_clip.plugin"
    name = "hpsv2"

    @pytest.fixture(autouse=True)
    def _file(self, architecture: None, hps_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(hps_file))


class TestAesthetic(JudgeContract):
    module = "t2i_open_clip.plugin"
    name = "laion-aesthetic"

    @pytest.fixture(autouse=True)
    def _file(self, tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(save_head(tmp_path / "head.pth")))
        monkeypatch.setattr(type(self), "options", {"clip": str(tiny_clip)})


def ask(judge: Any, queries: list[Query]) -> list[Any]:
    return [answer for _, answer in judge.observe("reward", iter(queries))]


def hps(file: Path, batch: int | None = None, **options: Any) -> Any:
    return HPS.create(Setup(str(file), Hpsv2Options(**options), "cpu", batch, offline=True))


@pytest.mark.usefixtures("architecture")
def test_the_reward_is_the_cosine_without_scale(hps_file: Path, tmp_path: Path) -> None:
    images = sample_images(tmp_path, 3, 40)
    queries = [Query((image,), (text,)) for image in images for text in TEXTS]
    judge = hps(hps_file, 4)
    found = ask(judge, queries)
    model = open_clip.CLIP(**CONFIG).eval()
    model.load_state_dict(torch.load(hps_file, weights_only=True)["state_dict"])
    tokenizer = open_clip.get_tokenizer("ViT-H-14")
    for query, reward in zip(queries, found, strict=True):
        with torch.inference_mode():
            image = model.encode_image(hpsv2.preprocess(query.images[0].pil())[None], normalize=True)[0]
            text = model.encode_text(tokenizer([query.texts[0]]), normalize=True)[0]
        assert reward.value == pytest.approx(float(image @ text), abs=1e-5)
        assert reward.cut_to == (77 if query.texts[0] == TEXTS[2] else None)
    assert np.ptp([reward.value for reward in found]) > 0.01
    assert (judge.settings["version"], len(judge.settings["sha256"])) == ("2.0", 64)


@pytest.mark.parametrize(
    ("size", "rows", "columns"),
    [((224, 224), (0, 224), (0, 224)), ((448, 224), (56, 168), (0, 224)), ((224, 100), (62, 162), (0, 224)),
     ((101, 224), (0, 224), (61, 162))],
)  # fmt: skip
def test_the_long_side_is_resized_and_the_rest_is_black(
    size: tuple[int, int], rows: tuple[int, int], columns: tuple[int, int]
) -> None:
    """By the page of rewards: centred, and of an odd padding left and top get the smaller half."""
    found = hpsv2.preprocess(PILImage.new("RGB", size, "white"))
    mean, std = torch.tensor(hpsv2._CLIP_MEAN)[:, None, None], torch.tensor(hpsv2._CLIP_STD)[:, None, None]
    pixels = found * std + mean
    expected = torch.zeros(3, 224, 224)
    expected[:, rows[0] : rows[1], columns[0] : columns[1]] = 1
    torch.testing.assert_close(pixels, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("case", PUBLISHED["images"], ids=lambda case: f"{case['width']}x{case['height']}")
def test_images_are_preprocessed_as_by_the_published_package(case: dict[str, Any]) -> None:
    y, x, c = np.indices((case["height"], case["width"], 3))
    pixels = (x * (7 + c) + y * (11 - 2 * c) + x * y // (5 + c)) % 256
    seen = hpsv2.preprocess(PILImage.fromarray(pixels.astype(np.uint8))).double()
    assert (float(seen.mean()), float(seen.std())) == pytest.approx((case["mean"], case["std"]), abs=1e-5)
    for *place, value in case["values"]:
        assert float(seen[tuple(place)]) == pytest.approx(value, abs=1e-5)


def test_resizing_without_antialiasing_is_another_image(tmp_path: Path) -> None:
    (image,) = sample_images(tmp_path, 1, 600)
    noise = PILImage.fromarray(np.random.default_rng(0).integers(0, 256, (600, 600, 3), dtype=np.uint8))
    smooth, rough = (hpsv2.preprocess(noise, antialias=value) for value in (True, False))
    assert smooth.std() < 0.7 * rough.std()
    tensor = torch.nn.functional.interpolate(
        torch.from_numpy(np.array(image.pil())).permute(2, 0, 1)[None] / 255,
        (224, 224),
        mode="bicubic",
        antialias=True,
    )[0]
    mean, std = torch.tensor(hpsv2._CLIP_MEAN)[:, None, None], torch.tensor(hpsv2._CLIP_STD)[:, None, None]
    torch.testing.assert_close(hpsv2.preprocess(image.pil()), (tensor - mean) / std, atol=1e-5, rtol=0)


@pytest.mark.usefixtures("architecture")
def test_images_and_texts_are_embedded_once_a_batch(hps_file: Path, tmp_path: Path) -> None:
    judge, counts = hps(hps_file, 8), {"image": 0, "text": 0}

    def counted(kind: str, own: Callable[..., Any]) -> Callable[..., Any]:
        def call(items: Any, normalize: bool) -> Any:
            counts[kind] += len(items)
            return own(items, normalize=normalize)

        return call

    judge._network.encode_image = counted("image", judge._network.encode_image)
    judge._network.encode_text = counted("text", judge._network.encode_text)
    images = sample_images(tmp_path, 2)
    queries = [Query((image,), (text,)) for image in images for text in TEXTS]
    assert all(isinstance(answer, Reward) for answer in ask(judge, queries))
    assert counts == {"image": 2, "text": 3}
    (failure,) = ask(judge, [Query(tuple(images), ("a cat",))])
    assert isinstance(failure, Failure)


@pytest.mark.usefixtures("architecture")
def test_files_of_hpsv2_are_checked_by_the_plan(
    hps_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert HPS.loading.check

    def check(argument: str | None, offline: bool = False, **options: Any) -> None:
        assert HPS.loading.check
        HPS.loading.check(Setup(argument, Hpsv2Options(**options), offline=offline))

    check(str(hps_file))
    with pytest.raises(BadModel, match="its SHA-256 is"):
        check(str(hps_file), sha256="0" * 64)
    torch.save({"state_dict": {"a": torch.zeros(1)}}, tmp_path / "other.pt")
    with pytest.raises(BadModel, match=r"hpsv2:.*other\.pt: cannot be loaded from"):
        check(str(tmp_path / "other.pt"))
    torch.save({"state_dict": Path}, tmp_path / "code.pt")
    with pytest.raises(BadModel, match="does not belong in weights"):
        check(str(tmp_path / "code.pt"))
    with pytest.raises(BadModel, match="is neither a file nor a repository"):
        check("nothing.pt")
    with pytest.raises(BadOption, match="leave out the option revision"):
        check(str(hps_file), revision="main")
    for module in ("constants", "file_download.constants"):
        monkeypatch.setattr(f"huggingface_hub.{module}.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(NotHere, match=r"HPS_v2\.1_compressed\.pt of xswu/HPSv2 .*t2i prefetch hpsv21"):
        check(None, offline=True, version="2.1")


def test_the_preset_is_the_other_version() -> None:
    preset = OFFERED["hpsv21"]
    assert isinstance(preset, Preset)
    assert (preset.of, dict(preset.options)) == ("t2i-open-clip/hpsv2", {"version": "2.1"})
    first, second = (
        list(hpsv2_files.list_dependencies(None, Hpsv2Options(version=version, revision="c")))
        for version in ("2.0", "2.1")
    )
    assert (first, second) == (
        ["xswu/HPSv2@c:HPS_v2_compressed.pt"], ["xswu/HPSv2@c:HPS_v2.1_compressed.pt"],
    )  # fmt: skip


def save_head(file: Path, width: int = 16, version: str = "v2") -> Path:
    """A head with random weights, with the keys and shapes of the published ones but for the width."""
    torch.manual_seed(1)
    if version == "v1":
        torch.save(torch.nn.Linear(width, 1).state_dict(), file)
        return file
    sizes = (width, 1024, 128, 64, 16, 1)
    state = {}
    for number, (inputs, outputs) in zip((0, 2, 4, 6, 7), pairwise(sizes), strict=True):
        layer = torch.nn.Linear(inputs, outputs)
        state |= {f"layers.{number}.{key}": value for key, value in layer.state_dict().items()}
    torch.save(state, file)
    return file


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_aesthetic_is_the_head_on_the_normalised_embedding(
    version: str, tiny_clip: Path, tmp_path: Path
) -> None:
    file = save_head(tmp_path / "head.pth", version=version)
    options = AestheticOptions(version=version, clip=str(tiny_clip))
    judge = AESTHETIC.create(Setup(str(file), options, "cpu", 2, offline=True))
    images = sample_images(tmp_path, 3, 40)
    found = ask(judge, [Query((image,), (text,)) for image in images for text in ("a cat", "")])
    state = torch.load(file, weights_only=True)
    if version == "v1":
        head: Any = torch.nn.Linear(16, 1)
        head.load_state_dict(state)
    else:  # by layers, with the dropouts of training, which do nothing here
        sizes = (16, 1024, 128, 64, 16, 1)
        layers: list[torch.nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers.append(torch.nn.Linear(inputs, outputs))
            if outputs in (1024, 128, 64):
                layers.append(torch.nn.Dropout(0.2))
        head = torch.nn.Sequential(*layers).eval()
        head.load_state_dict({key.removeprefix("layers."): value for key, value in state.items()})
    model, transform = open_clip.create_model_from_pretrained(f"local-dir:{tiny_clip}")
    for number, image in enumerate(images):
        with torch.inference_mode():
            value = float(head(model.eval().encode_image(transform(image.pil())[None], normalize=True)))
        assert [found[2 * number].value, found[2 * number + 1].value] == [pytest.approx(value, rel=1e-4)] * 2
        assert found[2 * number].cut_to is None
    assert len({reward.value for reward in found}) == 3
    assert (judge.settings["version"], len(judge.settings["head_sha256"])) == (version, 64)


def test_heads_that_do_not_fit_are_refused(tiny_clip: Path, tmp_path: Path) -> None:
    def create(file: Path) -> Any:
        return AESTHETIC.create(Setup(str(file), AestheticOptions(clip=str(tiny_clip)), "cpu", offline=True))

    with pytest.raises(BadModel, match="reads 8 values, but the embeddings"):
        create(save_head(tmp_path / "narrow.pth", 8))
    for content in ({"a": torch.zeros(1)}, {"layers.0.weight": torch.zeros(1, 16)}, {"weight": Path}):
        torch.save(content, tmp_path / "odd.pth")
        with pytest.raises(BadModel, match=r"odd\.pth is not the head of an aesthetic predictor"):
            create(tmp_path / "odd.pth")
    assert AESTHETIC.loading.check
    with pytest.raises(BadModel, match="its SHA-256 is"):
        AESTHETIC.loading.check(
            Setup(str(save_head(tmp_path / "h.pth")), AestheticOptions(clip=str(tiny_clip), head_sha256="0" * 64))
        )


def test_the_published_head_is_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of version 2 the digest is known; a file that is another one is refused."""
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    name = aesthetic_head.URLS["v2"].rpartition("/")[2]
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(NotHere, match="improved-aesthetic-predictor"):
        aesthetic_head.fetch(None, AestheticOptions(), offline=True)
    save_head(tmp_path / "checkpoints" / name)
    with pytest.raises(BadModel, match="its SHA-256 is"):
        aesthetic_head.fetch(None, AestheticOptions(), offline=True)
    own = save_head(tmp_path / "checkpoints" / aesthetic_head.URLS["v1"].rpartition("/")[2], version="v1")
    assert aesthetic_head.fetch(None, AestheticOptions(version="v1"), offline=True) == own
    dependencies = list(aesthetic_head.list_dependencies(None, AestheticOptions()))
    assert dependencies == [f"{aesthetic_head.URLS['v2']}:{aesthetic_head.SHA256['v2']}"]


def test_each_image_is_scored_whatever_the_text(tiny_clip: Path, tmp_path: Path) -> None:
    file = save_head(tmp_path / "head.pth")
    judge = AESTHETIC.create(Setup(str(file), AestheticOptions(clip=str(tiny_clip)), "cpu", offline=True))
    images: list[Image] = sample_images(tmp_path, 2)
    (one, none) = ask(judge, [Query((images[0],), ("a cat",)), Query(tuple(images), ("a cat",))])
    assert isinstance(one, Reward)
    assert none == Failure("a reward is of one image, not of 2", final=True)
