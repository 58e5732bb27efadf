"""Models from a hub: the headline command end to end, broken and refused downloads, and work offline."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import model_hub
import pytest
import random_weights
from model_hub import Hub, State, commit_id, folder_files
from t2i_diffusers.presets import KNOWN

pytestmark = pytest.mark.long  # each test starts the command and a hub

SD2 = next(known for known in KNOWN if known.name == "sd2")
COMMIT = commit_id("random weights")
SMALL = ("-o", "sd2.steps=2", "-o", "sd2.height=64", "-o", "sd2.width=64", "-o", f"sd2.revision={COMMIT}")
HEADLINE = (
    "eval",
    "--metric",
    "tiam",
    "--model",
    "sd2",
    "--limit",
    "2",
    "--seeds",
    "2",
    "--device",
    "cpu",
    *SMALL,
)
MASK2FORMER = "facebook/mask2former-swin-small-coco-instance"
UNET = "unet/diffusion_pytorch_model.safetensors"
UNUSED = ("512-base-ema.ckpt", "unet/diffusion_pytorch_model.bin")
"""Files that the repository has and no pipeline needs."""

SESSION = """
import json, os, sys
from importlib import metadata
answers = os.fdopen(os.dup(1), "w")
from t2i_cli.app import app
from typer.testing import CliRunner
every = metadata.distributions
for line in sys.stdin:
    environment, absent, words = json.loads(line)
    os.environ.update(environment)
    for place in ("t2i_registry.discovery.distributions", "importlib.metadata.distributions"):
        module, _, name = place.rpartition(".")
        setattr(sys.modules[module], name, lambda: [d for d in every() if d.metadata["Name"] not in absent])
    done = CliRunner().invoke(app, words)
    for name in environment:
        del os.environ[name]
    print(json.dumps([done.exit_code, done.stdout, done.stderr]), file=answers, flush=True)
"""


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """Lines on standard error, without progress bars of downloads."""
        return [line for line in self.err.splitlines() if line and not line.startswith("Fetching ")]


class Session:
    """Runs commands one after the other in one interpreter, which imports the libraries once."""

    def __init__(self, environment: Mapping[str, str], folder: Path, before: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{before}\n{SESSION}"],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *words: str, environment: Mapping[str, str] | None = None, absent: tuple[str, ...] = ()) -> Done:
        """Run a command, with further environment variables and without some distributions."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([environment or {}, absent, words]), file=self.process.stdin, flush=True)
        return Done(*json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        """End it."""
        self.process.communicate(timeout=60)


def environment(hub: Hub, home: Path) -> dict[str, str]:
    """Return the environment of a user whose hub this is, with its own folders."""
    left_out = ("HF_", "HUGGING", "T2I_", "TORCH_HOME", "XDG_")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(left_out)},
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(home / "hf"),
        "TORCH_HOME": str(home / "torch"),
        "T2I_CACHE_DIR": str(home / "t2i"),
        "T2I_ULTRALYTICS_MIRROR": f"{hub.endpoint}/assets",
    }


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models with random weights: a Stable Diffusion 2, a YOLO segmenter, a Mask2Former."""
    folder = tmp_path_factory.mktemp("weights")
    random_weights.save_stable_diffusion_2(folder / "sd2")
    random_weights.save_yolov8_seg(folder / "yolov8x-seg.pt")
    random_weights.save_mask2former(folder / "mask2former")
    return folder


@contextmanager
def stocked_hub(weights: Path) -> Iterator[Hub]:
    """Run a hub that has what the headline command wants."""
    with model_hub.serving() as hub:
        unused = dict.fromkeys(UNUSED, b"a pickle" * 1000)
        hub.state.publish(SD2.repository, folder_files(weights / "sd2") | unused, COMMIT)
        hub.state.publish(MASK2FORMER, folder_files(weights / "mask2former"))
        hub.state.assets["yolov8x-seg.pt"] = (weights / "yolov8x-seg.pt").read_bytes()
        yield hub


@pytest.fixture(scope="module")
def hub(weights: Path) -> Iterator[Hub]:
    """A hub that has what the headline command wants."""
    with stocked_hub(weights) as hub:
        yield hub


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with all that the session writes."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def session(hub: Hub, home: Path) -> Iterator[Session]:
    """Commands of a user of the hub; the libraries are imported once for all tests."""
    session = Session(environment(hub, home), home)
    yield session
    session.close()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def served(state: State, name: str) -> bytes:
    """A file of the mirror."""
    return state.repositories[SD2.repository].commits[COMMIT][name]


def test_the_headline_command_evaluates_sd2_from_its_mirror(hub: Hub, tmp_path: Path) -> None:
    """Run in a separate process."""
    before = len(hub.state.log)
    done = subprocess.run(
        [sys.executable, "-m", "t2i_cli", *HEADLINE, "--out", str(tmp_path / "run"), "--json"],
        env=environment(hub, tmp_path), capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert (result["n_ok"], result["n_failed"], result["judge"]["name"]) == (4, 0, "yolov8x-seg")
    assert 0 <= result["score"] <= 1
    note = f"sd2: {SD2.original} was withdrawn by its publisher; using the mirror {SD2.repository}"
    assert " ".join(done.stderr.split()).count(note) == 1  # a narrow terminal has it on two lines
    assert not [asked for asked in hub.state.log[before:] if SD2.original in asked.path]

    model = json.loads((tmp_path / "run" / "run.json").read_text())["models"]["sd2"]
    assert (model["name"], model["original"], model["argument"]) == ("sd2", SD2.original, SD2.repository)
    assert model["options"]["revision"] == COMMIT
    digests = model["reported"]["files"]
    assert {"model_index.json", "text_encoder/model.safetensors", UNET} <= set(digests)
    assert digests == {name: sha256(served(hub.state, name)) for name in digests}


def test_a_broken_download_continues_where_it_broke(hub: Hub, session: Session, home: Path) -> None:
    """The hub's client counts blocks of 10 MiB; the judge's file is continued to the byte."""
    block = 10 * 2**20
    large = random.Random(0).randbytes(2 * block + 4321)
    files = {**hub.state.repositories[SD2.repository].commits[COMMIT], UNET: large}
    commit = hub.state.publish(SD2.repository, files, commit_id("large"))
    judge = hub.state.assets["yolov8m-seg.pt"] = hub.state.assets["yolov8x-seg.pt"]
    hub.state.cut = {sha256(large), "yolov8m-seg.pt"}
    for words in (("sd2", "-o", f"sd2.revision={commit}"), ("ultralytics:yolov8m-seg",)):
        done = session.run("prefetch", *words)
        assert done.code == 0, done.err
    for name, kept in ((sha256(large), block), ("yolov8m-seg.pt", len(judge) // 2)):
        asked = [each.bytes for each in hub.state.log if each.method == "GET" and each.path.endswith(f"/{name}")]
        assert asked == [None, f"bytes={kept}-"]
    (place,) = (home / "hf").rglob(f"snapshots/{commit}/{UNET}")
    assert place.read_bytes() == large
    (place,) = (home / "torch").rglob("yolov8m-seg.pt")
    assert place.read_bytes() == judge


def test_prefetched_files_are_used_without_the_hub(weights: Path, tmp_path: Path) -> None:
    with stocked_hub(weights) as hub:
        session = Session(environment(hub, tmp_path), tmp_path)
        without = session.run(*HEADLINE, "--offline")
        assert without.code == 12
        assert f"run `t2i prefetch sd2 {' '.join(SMALL)}` with a network" in without.err
        fetched = session.run("prefetch", "sd2", "yolov8x-seg", *SMALL)
        assert fetched.code == 0, fetched.err
        assert f"{SD2.original} was withdrawn by its publisher" in fetched.out
        assert f"{SD2.repository}@{COMMIT}" in fetched.out
        paths = [asked.path for asked in hub.state.log if asked.method == "GET" and "/storage/" in asked.path]
        assert len(paths) == len(set(paths)), "each file once"
        assert f"/storage/{sha256(b'a pickle' * 1000)}" not in paths, "only what the pipeline needs"
    done = session.run(*HEADLINE, "--offline", "--out", str(tmp_path / "run"), "--json")
    session.close()
    assert done.code == 0, done.err
    assert json.loads(done.out)["results"][0]["n_ok"] == 4


def test_without_ultralytics_the_error_names_both_ways(session: Session, tmp_path: Path) -> None:
    absent = ("t2i-ultralytics", "ultralytics")
    done = session.run(*HEADLINE, absent=absent)
    assert done.code == 9
    (line,) = done.errors
    assert "pip install 't2i[ultralytics]'" in line
    assert "--judge mask2former-swin-small" in line
    other = ("--judge", "mask2former-swin-small", "--out", str(tmp_path / "run"), "--json")
    done = session.run(*HEADLINE, *other, absent=absent)
    assert done.code == 0, done.err
    (result,) = json.loads(done.out)["results"]
    assert (result["n_ok"], result["judge"]["name"]) == (4, "mask2former-swin-small")


def test_without_the_library_of_ultralytics_the_error_names_both_ways(hub: Hub, home: Path) -> None:
    """Its plugin is installed, and the library is not."""
    session = Session(environment(hub, home), home, "import sys; sys.modules['ultralytics'] = None")
    done = session.run(*HEADLINE, "--dry-run")
    session.close()
    assert done.code == 7
    (line,) = done.errors
    assert "pip install 't2i[ultralytics]'" in line
    assert "--judge mask2former-swin-small" in line


def test_refused_repositories_are_one_line_each(hub: Hub, session: Session, weights: Path) -> None:
    files, state, page = folder_files(weights / "sd2"), hub.state, hub.endpoint
    state.publish("org/open", files)
    state.publish("org/gated", files, access="gated")
    state.publish("org/garbage", files, access="garbage")

    def refusal(name: str, *options: str, token: str = "") -> str:
        asked = ("prefetch", f"diffusers:{name}", *options)
        done = session.run(*asked, environment={"HF_TOKEN": token} if token else {})
        assert done.code == 12, (done.code, done.out, done.err)
        (line,) = done.errors
        assert name in line
        return line

    for token in ("", model_hub.TOKEN):
        assert f"{page}/org/withdrawn" in refusal("org/withdrawn", token=token)
    assert f"its mirror is {SD2.repository}" in refusal(SD2.original)
    gated = refusal("org/gated")
    assert f"accept the terms at {page}/org/gated" in gated
    assert "`hf auth login`" in gated
    assert "HF_TOKEN" in gated
    no_access = refusal("org/gated", token="hf_of_another")
    assert f"{page}/org/gated" in no_access
    assert "no access" in no_access
    assert "no such revision" in refusal("org/open", "-o", "diffusers.revision=v9")
    assert "refuses your token" in refusal("org/open", token="hf_unknown")
    assert "HF_ENDPOINT" in refusal("org/garbage")
    done = session.run("prefetch", "diffusers:org/gated", environment={"HF_TOKEN": model_hub.TOKEN})
    assert (done.code, done.errors) == (0, [])


def test_a_revision_stays_what_it_was_here_until_another_is_named(
    hub: Hub, session: Session, weights: Path
) -> None:
    files = folder_files(weights / "sd2")
    old = hub.state.publish("org/moving", files, commit_id("old"))
    new = hub.state.publish("org/moving", {**files, "README.md": b"changed"}, commit_id("new"))

    def commit(*options: str) -> str:
        done = session.run("prefetch", "diffusers:org/moving", *options)
        assert done.code == 0, done.err
        return done.out.strip().rpartition("@")[2]

    hub.state.repositories["org/moving"].branches["main"] = old
    assert commit() == old
    hub.state.repositories["org/moving"].branches["main"] = new
    assert commit() == old, "a study does not change on its way"
    assert commit("-o", f"diffusers.revision={new}") == new
    del hub.state.repositories["org/moving"].commits[old]
    assert commit("-o", f"diffusers.revision={old}") == old, "it is on this machine"


def test_a_pinned_file_with_other_content_is_refused(hub: Hub, session: Session, weights: Path) -> None:
    assert SD2.revision is not None
    hub.state.publish(SD2.repository, folder_files(weights / "sd2"), SD2.revision)
    for model in ("sd2", "sd2-ae"):
        done = session.run("prefetch", model)
        assert done.code == 12
        (line,) = done.errors
        for part in (UNET, SD2.files[UNET], sha256(served(hub.state, UNET))):
            assert part in line


def test_a_full_disk_is_one_line_and_complete_files_are_kept(
    hub: Hub, session: Session, weights: Path, home: Path
) -> None:
    """The system refuses to let files grow beyond a limit (EFBIG), as it does on a full disk (ENOSPC)."""
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("this system cannot limit the files of another process")
    limit, process = 500_000, session.process.pid
    hub.state.publish("org/full", folder_files(weights / "sd2"))
    hub.state.assets["yolov8l-seg.pt"] = hub.state.assets["yolov8x-seg.pt"]
    assert len(served(hub.state, UNET)) > limit > len(served(hub.state, "vae/diffusion_pytorch_model.safetensors"))
    resource.prlimit(process, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for name, place in (("diffusers:org/full", home / "hf"), ("ultralytics:yolov8l-seg", home / "torch")):
        done = session.run("prefetch", name)
        assert done.code == 12
        (line,) = done.errors
        assert "no space left" in line
        assert str(place) in line
    resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert session.run("prefetch", "diffusers:org/full").code == 0
    index = "/org/full/resolve/main/model_index.json"
    assert [each.path for each in hub.state.log if each.method == "GET"].count(index) == 1, "it was complete"
