"""A training loop that can be killed and resumed, with averaged weights and a log.

Given the same data, a resumed training ends with the weights of an uninterrupted one: a checkpoint is written
whole, and all randomness of a step comes from its number.
"""

from __future__ import annotations

import copy
import csv
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

NetworkT = TypeVar("NetworkT", bound=nn.Module)

ROW, CHECKPOINT = 50, 100
"""Steps for each row of the log, and for each checkpoint."""

Losses = Callable[[int, torch.Generator], dict[str, Tensor]]
"""Returns the losses of a step's batch by name; the first is minimized."""


@dataclass(frozen=True)
class Course:
    """Settings of a training.

    Attributes:
        steps: Number of steps; may be raised while the learning rate has not begun to fall.
        batch: Images per step.
        rate: Highest learning rate: reached after `warm` steps, falling to 0 over the last share `fall` of steps.
        seed: Of all randomness.
        warm: Steps until the learning rate is at its highest.
        fall: Share of the steps over which it falls, from 0 to 1.
        decay: Weight decay.
        keep: Share of the averaged weights that each step keeps.
        snapshots: Steps after which the averaged weights are saved as well.
    """

    steps: int
    batch: int
    rate: float
    seed: int = 0
    warm: int = 200
    fall: float = 0.3
    decay: float = 0.01
    keep: float = 0.999
    snapshots: tuple[int, ...] = ()

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        left = (self.steps - step) / max(1, round(self.fall * self.steps))
        return self.rate * min(1.0, (step + 1) / self.warm, left)


def train(
    network: nn.Module,
    losses: Losses,
    course: Course,
    out: Path,
    about: Mapping[str, Any],
    slow: nn.Module | None = None,
    share: float = 1.0,
) -> nn.Module:
    """Train, from the folder's checkpoint if it has one, and return the averaged network.

    Args:
        network: Trained in place.
        losses: Given a step's number and its generator, returns the losses of its batch.
        course: How to train.
        out: Folder of checkpoint, settings, log and snapshots.
        about: What else the result depends on; kept in `OUT/settings.json` together with the course.
        slow: A part of the network that learns at a share of the rate.
        share: That share.

    Raises:
        SystemExit: If `out` holds a training with other settings.
    """
    out.mkdir(parents=True, exist_ok=True)
    _settle(out / "settings.json", {**about, **asdict(course)})
    average = copy.deepcopy(network).requires_grad_(False).eval()
    optimiser = torch.optim.AdamW(
        _groups(network, slow), lr=course.rate, betas=(0.9, 0.98), weight_decay=course.decay
    )
    start, rows, seconds = 0, [], 0.0
    if (out / "checkpoint.pt").exists():
        state = torch.load(out / "checkpoint.pt", map_location="cpu", weights_only=True)
        network.load_state_dict(state["network"])
        average.load_state_dict(state["average"])
        optimiser.load_state_dict(state["optimiser"])
        start, rows, seconds = state["step"], state["rows"], state["seconds"]
    begun, sums = time.monotonic(), dict[str, float]()
    for step in range(start, course.steps):
        for group, of_it in zip(optimiser.param_groups, (1.0, share), strict=False):
            group["lr"] = of_it * course.rate_at(step)
        found = losses(step, torch.Generator().manual_seed(course.seed * 1_000_003 + step))
        optimiser.zero_grad(set_to_none=True)
        next(iter(found.values())).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        update_average(average, network, min(course.keep, (step + 1) / (step + 10)))
        for name, value in found.items():
            sums[name] = sums.get(name, 0.0) + float(value.detach())
        done, last = step + 1, step + 1 == course.steps
        if done in course.snapshots:
            _write(average.state_dict(), out / f"average-{done:06d}.pt")
        if done % ROW == 0 or last:
            now, begun = time.monotonic() - begun, time.monotonic()
            seconds += now
            count = done - (rows[-1]["step"] if rows else 0)
            row = {"step": done, **{name: round(value / count, 6) for name, value in sums.items()}}
            rows.append(
                {**row, "images_per_s": round(count * course.batch / now, 1), "hours": round(seconds / 3600, 3)}
            )
            left = now / count * (course.steps - done) / 3600
            said = ", ".join(f"{name} {value}" for name, value in rows[-1].items())
            print(f"{said}, hours_left {left:.2f}", flush=True)
            sums = {}
        if done % CHECKPOINT == 0 or last:
            state = {"network": network.state_dict(), "average": average.state_dict(), "step": done, "rows": rows}
            _write({**state, "optimiser": optimiser.state_dict(), "seconds": seconds}, out / "checkpoint.pt")
            _log(rows, out / "log.csv")
    return average


def load_average(network: NetworkT, out: Path, snapshot: int | None = None) -> NetworkT:
    """Load a training's averaged weights into a network: of the last checkpoint, or of the step `snapshot`."""
    if snapshot is None:
        weights = torch.load(out / "checkpoint.pt", map_location="cpu", weights_only=True)["average"]
    else:
        weights = torch.load(out / f"average-{snapshot:06d}.pt", map_location="cpu", weights_only=True)
    network.load_state_dict(weights)
    network.eval().requires_grad_(False)
    return network


@torch.no_grad()
def update_average(average: nn.Module, network: nn.Module, keep: float) -> None:
    """Move the averaged weights a little towards the network's."""
    # not the state's values, which contain a shared tensor twice
    ours, theirs = ([*one.parameters(), *one.buffers()] for one in (average, network))
    for kept, new in zip(ours, theirs, strict=True):
        if kept.dtype.is_floating_point:
            kept.lerp_(new, 1 - keep)
        else:
            kept.copy_(new)


def _groups(network: nn.Module, slow: nn.Module | None) -> list[dict[str, Any]]:
    """Return the parameters that learn at the full rate, and then those that learn at a share of it, if any."""
    slower = set(slow.parameters()) if slow is not None else set[nn.Parameter]()
    groups: list[dict[str, Any]] = [{"params": [one for one in network.parameters() if one not in slower]}]
    return [*groups, {"params": list(slow.parameters())}] if slow is not None else groups


def _settle(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a new training; raise SystemExit if the folder's training has other settings."""
    text = json.dumps(settings, indent=2, default=str)
    if path.exists():
        before, now = ({**json.loads(one), "steps": None, "snapshots": None} for one in (path.read_text(), text))
        if before != now:
            names = ", ".join(name for name in sorted(before | now) if before.get(name) != now.get(name))
            raise SystemExit(
                f"{path.parent} holds a training with other settings ({names}); choose another folder"
            )
    part = path.with_suffix(".part")
    part.write_text(text + "\n")
    part.rename(path)


def _write(state: dict[str, Any], path: Path) -> None:
    """Write a checkpoint atomically; a kill leaves the previous one."""
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)


def _log(rows: list[dict[str, float]], path: Path) -> None:
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[-1].keys())
        writer.writeheader()
        writer.writerows(rows)
    part.rename(path)
