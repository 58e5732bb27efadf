"""A training that is stopped goes on as if nothing had been."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from t2i_torch_support import training
from t2i_torch_support.training import Course, load_average, train
from torch import nn

COURSE = Course(steps=40, batch=8, rate=1e-2, warm=5, snapshots=(10,))

SCRIPT = """
import sys
from pathlib import Path
import test_training
test_training.fit(Path(sys.argv[1]), pause=0.1)
"""


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))


def fit(out, stop_at=None, pause=0.0, course=COURSE, **about):
    """Learn a sum; ``stop_at``: break off in that step."""
    made = network()
    training.ROW, training.CHECKPOINT = 5, 10

    def losses(step, random):
        if step == stop_at:
            raise KeyboardInterrupt
        time.sleep(pause)
        numbers = torch.randn(course.batch, 3, generator=random)
        loss = (made(numbers) - numbers.sum(dim=1, keepdim=True)).pow(2).mean()
        return {"loss": loss, "twice": 2 * loss}

    return train(made, losses, course, out, about)


@pytest.fixture(scope="module", autouse=True)
def _settings():
    """Set back what `fit` sets."""
    before = (training.ROW, training.CHECKPOINT)
    yield
    (training.ROW, training.CHECKPOINT) = before


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    out = tmp_path_factory.mktemp("unbroken")
    fit(out)
    return out


def states(out):
    return torch.load(out / "checkpoint.pt", weights_only=True)


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.values(), other.values(), strict=True))


def rows(out):
    kept = ("step", "loss", "twice")
    return [[row[name] for name in kept] for row in csv.DictReader((out / "log.csv").open())]


def assert_as_unbroken(out, unbroken):
    ours, theirs = states(out), states(unbroken)
    assert ours["step"] == 40
    assert same(ours["network"], theirs["network"])
    assert same(ours["average"], theirs["average"])
    snapshot = "average-000010.pt"
    assert same(torch.load(out / snapshot, weights_only=True), torch.load(unbroken / snapshot, weights_only=True))
    assert rows(out) == rows(unbroken)


@pytest.mark.parametrize("stop_at", [3, 10, 27, 39])
def test_a_stopped_training_ends_with_the_weights_of_an_unbroken_one(tmp_path, unbroken, stop_at):
    with pytest.raises(KeyboardInterrupt):
        fit(tmp_path, stop_at)
    fit(tmp_path)
    assert_as_unbroken(tmp_path, unbroken)


@pytest.mark.long
def test_a_killed_training_ends_with_the_weights_of_an_unbroken_one(tmp_path, unbroken):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], env=environment)
    while not (tmp_path / "checkpoint.pt").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert states(tmp_path)["step"] < 40
    fit(tmp_path)
    assert_as_unbroken(tmp_path, unbroken)


def test_it_learns_and_logs(unbroken):
    found = [float(loss) for _, loss, _ in rows(unbroken)]
    assert len(found) == 8
    assert found[-1] < found[0] / 2
    assert [float(twice) for *_, twice in rows(unbroken)] == pytest.approx([2 * loss for loss in found], rel=1e-4)


def test_the_average_is_loaded(unbroken):
    made = load_average(network(), unbroken)
    assert not made.training
    assert same(made.state_dict(), states(unbroken)["average"])
    early = load_average(network(), unbroken, snapshot=10)
    assert not same(early.state_dict(), made.state_dict())


def test_other_settings_want_another_folder(tmp_path):
    fit(tmp_path, data="a")
    with pytest.raises(SystemExit, match=r"other settings \(data\)"):
        fit(tmp_path, data="b")
    with pytest.raises(SystemExit, match=r"other settings \(rate\)"):
        fit(tmp_path, course=Course(steps=40, batch=8, rate=1e-3, warm=5, snapshots=(10,)), data="a")


def test_more_steps_go_on_from_there(tmp_path):
    course = Course(steps=50, batch=8, rate=1e-2, warm=5, snapshots=(10,))
    fit(tmp_path)
    fit(tmp_path, course=course)
    assert states(tmp_path)["step"] == 50
    assert json.loads((tmp_path / "settings.json").read_text())["steps"] == 50


def test_a_part_may_learn_slowly(tmp_path):
    made = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 1))
    before = [one.detach().clone() for one in made.parameters()]

    def losses(step, random):
        return {"loss": made(torch.ones(2, 3)).pow(2).mean()}

    train(made, losses, Course(steps=1, batch=2, rate=1e-2, warm=1, fall=0), tmp_path, {}, made[0], share=0.1)
    moved = [float((now.detach() - was).abs().max()) for now, was in zip(made.parameters(), before, strict=True)]
    assert moved == pytest.approx([1e-3, 1e-3, 1e-2, 1e-2], rel=0.1)  # Adam's first step is as long as the rate


def test_weights_that_are_shared_are_averaged_once():
    shared = nn.Linear(2, 2, bias=False)
    now, kept = (nn.Sequential(shared, shared), nn.Sequential(*[nn.Linear(2, 2, bias=False)] * 2))
    nn.init.ones_(shared.weight)
    nn.init.zeros_(kept[0].weight)
    training.update_average(kept, now, 0.75)
    assert torch.equal(kept[1].weight, torch.full((2, 2), 0.25))


def test_the_rate_rises_stays_and_falls():
    course = Course(steps=1000, batch=1, rate=1.0, warm=100, fall=0.2)
    assert [course.rate_at(step) for step in (0, 49, 99, 500, 800, 900, 999)] == pytest.approx(
        [0.01, 0.5, 1, 1, 1, 0.5, 0.005]
    )
