"""FID against a file of mean and covariance, and the choice of its network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PILImage
from t2i_core.api import Features, Generated, GeneratorInfo, JudgeInfo, Setup
from t2i_core.api.errors import BadOption
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.testing import TEST_PROMPTS, StaticResolver
from t2i_torchmetrics.options import FidOptions
from t2i_torchmetrics.plugin import t2i_metrics
from t2i_torchmetrics.remarks import describe_network
from t2i_torchmetrics.statistics_file import read_statistics

INFOS = {info.name: info for info in t2i_metrics()}
MU, SIGMA = np.zeros(3), np.eye(3)
PIXELS = 4


def _draw(rng: np.random.Generator) -> Any:
    grey = np.clip(rng.normal(128, 20, (1, PIXELS, 1)).round(), 1, 254).astype(np.uint8)
    return np.repeat(grey, 3, axis=2)


class Noise:
    """Draws normal greys."""

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            yield request, Generated(_draw(np.random.default_rng([request.seed, *request.prompt.text.encode()])))


class Reader:
    """Gives the greys of an image as its features."""

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            yield query, Features(query.images[0].pixels[0, :, 0].astype(np.float32))


def _reader(name: str) -> JudgeInfo:
    return JudgeInfo(
        name=name, summary="Greys.", capabilities={"features": frozenset()}, create=lambda _: Reader()
    )


NOISE = GeneratorInfo(name="noise", summary="Grey noise.", create=lambda _: Noise())
RESOLVER = StaticResolver(
    *map(_reader, ("inception-v3", "inception-v3-torchvision", "dinov2-vit-l14", "clip-vit-l14")), TEST_PROMPTS
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    for i in range(50):
        PILImage.fromarray(_draw(np.random.default_rng(i))).save(folder / f"{i}.png")
    return folder


def _run(metric: str, out: Path, reference: Path, **options: Any) -> Any:
    return evaluate(
        INFOS[metric], NOISE, prompts="test-prompts", seeds=20, out=out / "run", resolver=RESOLVER,
        options={metric: {"reference": str(reference), **options}},
    )  # fmt: skip


def _greys(folder: Path) -> Any:
    return np.stack([np.asarray(PILImage.open(f))[0, :, 0] for f in sorted(folder.rglob("*.png"))]).astype(float)


def _write(folder: Path, **arrays: Any) -> Path:
    file = folder / "coco_val.npz"
    np.savez(file, **arrays)
    return file


def test_a_file_of_statistics_gives_the_value_of_its_images(tmp_path: Path, reference: Path) -> None:
    greys = _greys(reference)
    file = _write(tmp_path, mu=greys.mean(axis=0), sigma=np.cov(greys, rowvar=False))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    of_images = _run("fid", tmp_path / "a", reference).results[0]
    of_file = _run("fid", tmp_path / "b", file).results[0]
    assert of_file.score == pytest.approx(of_images.score, rel=1e-9)
    assert of_file.ci == pytest.approx(of_images.ci, rel=1e-6)
    notes = " ".join(of_file.notes)
    assert "mean and covariance of 4 features in coco_val.npz" in notes
    assert "needs network=torchvision" in notes
    assert "reference images" not in notes


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"mu": MU}, r"it lacks sigma \(it has mu\)"),
        ({"x": MU}, r"it lacks mu and sigma \(it has x\)"),
        ({"mu": SIGMA, "sigma": SIGMA}, r"mu has the shape \(3, 3\); it must be a vector"),
        ({"mu": MU, "sigma": np.eye(2)}, r"sigma has the shape \(2, 2\); with mu it must be \(3, 3\)"),
        ({"mu": np.array([0, np.nan, 0]), "sigma": SIGMA}, "mu has values that are not finite"),
        ({"mu": MU, "sigma": np.full((3, 3), np.inf)}, "sigma has values that are not finite"),
        ({"mu": MU, "sigma": SIGMA + np.diag([0.5, 0.5], 1)}, "sigma is not symmetric"),
        ({"mu": MU, "sigma": -SIGMA}, "sigma has negative eigenvalues"),
        ({"mu": np.array(["a", "b", "c"]), "sigma": SIGMA}, "mu holds <U1; it must hold real numbers"),
        ({"mu": MU + 1j, "sigma": SIGMA}, "mu holds complex128; it must hold real numbers"),
    ],
)
def test_statistics_that_are_not_valid_are_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    file = _write(tmp_path, **arrays)
    with pytest.raises(BadOption, match=rf"option reference: .*coco_val\.npz: {message}") as caught:
        INFOS["fid"].loading.check(Setup(None, FidOptions(reference=file)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut", b"\x93NUMPY\x01\x00v\x00"])
def test_files_without_arrays_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.npz"
    file.write_bytes(content)
    with pytest.raises(BadOption, match=r"it is not a file of NumPy arrays|it lacks"):
        read_statistics(file)


def test_a_pickle_in_the_file_is_not_read(tmp_path: Path) -> None:
    file = _write(tmp_path, mu=np.array([Path("x")] * 3, dtype=object), sigma=SIGMA)
    with pytest.raises(BadOption, match="it is not a file of NumPy arrays"):
        read_statistics(file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"file .*none\.npz does not exist"):
        INFOS["fid"].loading.check(Setup(None, FidOptions(reference=tmp_path / "none.npz")))


def test_kid_takes_no_statistics(tmp_path: Path) -> None:
    file = _write(tmp_path, mu=MU, sigma=SIGMA)
    with pytest.raises(BadOption, match="which only fid takes; this metric needs the reference images themselves"):
        _run("kid", tmp_path, file)


def test_statistics_of_another_network_fail_with_a_reason(tmp_path: Path) -> None:
    run = _run("fid", tmp_path, _write(tmp_path, mu=MU, sigma=SIGMA))
    assert run.results[0].score is None
    assert "has 3 features, and the judge gives 4; it belongs to another network" in run.failures()["reason"][0]


@pytest.mark.parametrize(
    ("network", "judge"),
    [(None, "inception-v3"), ("tensorflow", "inception-v3"), ("torchvision", "inception-v3-torchvision")],
)
def test_the_option_network_chooses_the_judge(
    tmp_path: Path, reference: Path, network: str | None, judge: str
) -> None:
    metric = {"reference": str(reference), "network": network}
    request = Request(
        metrics=("fid",),
        models=(ModelRequest(NOISE),),
        prompts=(_write_prompts(tmp_path),),
        options={"fid": metric},
    )
    (job,) = make_plan(request, dry=True).jobs
    assert {served.who for served in job.needs} == {judge}
    assert ("the options of metric 'fid' name it" in job.needs[0].why) == (network is not None)


def _write_prompts(folder: Path) -> str:
    file = folder / "prompts.txt"
    file.write_text("a dog\na cat\n")
    return str(file)


@pytest.mark.long
def test_images_that_the_reference_holds_too_are_counted(tmp_path: Path, reference: Path) -> None:
    first = _run("fid", tmp_path, reference)
    again = _run("fid", tmp_path / "again", Path(first.folder) / "images").results[0]
    assert again.score == pytest.approx(0, abs=1e-6)
    assert f"fid: {again.n_ok} of the images are also in the reference" in " ".join(again.notes)


def test_notes_name_the_network_of_dm_gan() -> None:
    assert list(describe_network("fid", "mini-clip")) == list(describe_network("fid", "inception-v3")) == []
    (note,) = describe_network("fid", "inception-v3-torchvision")
    assert "torchvision's ImageNet network, prepared as in DM-GAN, which DALL-Eval uses" in note


@pytest.mark.parametrize(("metric", "name"), [("fid", "FD"), ("kid", "KD")])
@pytest.mark.parametrize("by_option", [True, False])
def test_a_distance_is_named_by_the_judge_in_use(
    tmp_path: Path, reference: Path, metric: str, name: str, by_option: bool
) -> None:
    resolver = StaticResolver(_reader("dinov2-vit-l14"), TEST_PROMPTS) if by_option else RESOLVER
    found = evaluate(
        INFOS[metric], NOISE, prompts="test-prompts", seeds=2, out=tmp_path / "run", resolver=resolver,
        judge=() if by_option else ["dinov2-vit-l14", "clip-vit-l14"],
        options={metric: {"reference": str(reference), **({"network": "dinov2"} if by_option else {})}},
    )  # fmt: skip
    notes = [" ".join(result.notes) for result in found.results]
    assert [f"this is {name}-DINOv2" in own for own in notes] == [True, False][: len(notes)]
    assert [f"this is {name}-CLIP" in own for own in notes] == [False, True][: len(notes)]
    assert len(notes) == (1 if by_option else 2)


@pytest.mark.parametrize("metric", ["fid", "kid"])
def test_a_network_and_another_judge_are_refused(tmp_path: Path, reference: Path, metric: str) -> None:
    def plan(judge: str) -> None:
        make_plan(
            Request(
                metrics=(INFOS[metric],), models=(ModelRequest(NOISE),), prompts=("test-prompts",), seeds=2,
                judges=(judge,), out=tmp_path / judge,
                options={metric: {"reference": str(reference), "network": "dinov2"}},
            ),
            RESOLVER,
        )  # fmt: skip

    plan("dinov2-vit-l14")
    with pytest.raises(
        BadOption, match=r"'network' of '...': dinov2 is the judge dinov2-vit-l14, but .* clip-vit-l14"
    ):
        plan("clip-vit-l14")
