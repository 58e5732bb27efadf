"""Count the simulator's faults and laws in its own annotations: ``python count_faults.py``.

For each setting, this makes scenes, reads their annotations, and compares the observed frequency of each fault
with its rate, or with a number that follows from the rate. Annotations do not need a picture: the counted facts
are known before rendering, and most of them before the layout. Some scenes of each setting are rendered too and
must agree.

Each row is a test. Its p-value must exceed `ALARM` divided by the number of rows, so a correct program fails
anywhere in the table once in a thousand runs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from count_cases import CASES, RATE, Case, related
from count_rows import Rows, alike, share, spread
from t2i_core.api import Generated, ImageRequest, Instance, Truth
from t2i_core.api.mask import PackedMask
from t2i_miniworld.annotations import relation_of
from t2i_miniworld.faults import Draw, FaultRates
from t2i_miniworld.layout import box_of, pose
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.scene import Placed, PlacedScene, ScenePlan, Stage
from t2i_miniworld.simulator import annotation, cast_of, err, faults_of, key_of, prepare, simulate
from t2i_miniworld.workers import map_ordered

#: Probability that a correct program fails a row of the table.
ALARM = 1e-3
#: Stage of things without a place, which are never rendered.
_NOWHERE = Stage(12, 40, 45, 0.8, 0.5, 0, (180, 180, 180), (200, 200, 200))
_CHUNK = 250


def run(
    scenes: int = 5000,
    layouts: int = 1000,
    drawn: int = 14,
    workers: int | None = None,
    cases: Sequence[Case] | None = None,
) -> Rows:
    """Return the rows of the table.

    Faults do not depend on layouts, so several cases share layouts. Each case has its own salt for its faults.

    Args:
        scenes: Number of scenes of each case.
        layouts: Number of layouts, for cases in which places matter.
        drawn: Number of scenes of each case that are rendered.
        workers: Number of processes; by default one per core.
        cases: The cases; all by default.
    """
    cases = CASES if cases is None else cases
    pairs = [plan for _, plan in map_ordered(_pair_plan, _seen(range(layouts), "layouts"), workers)]
    yield from _independence(scenes)
    yield from _indifference(pairs)
    for salt, case in enumerate(cases, 1):
        options = SimulatorOptions(size=64, spp=1, salt=salt, **case.options)
        count = scenes * case.times
        chunks = [range(at, min(at + _CHUNK, count)) for at in range(0, count, _CHUNK)]
        jobs = [(numbers, [pairs[at % layouts] for at in numbers] if case.laid else []) for numbers in chunks]
        work = partial(_annotations, options, case.request, layouts)
        made = map_ordered(work, _seen(jobs, case.name), workers)
        truths = [truth for _, some in made for truth in some]
        yield from case.count(case.name, truths)
        if drawn:
            requests = [case.request(number) for number in range(drawn)]
            found = map_ordered(partial(_agrees, options), _seen(requests, f"{case.name}, drawn"), workers)
            yield share(case.name, "drawn pictures that say the same", 1, [agrees for _, agrees in found])


def _seen(jobs: Sequence[Any], what: str) -> Iterator[Any]:
    """Yield the jobs, with a progress line on standard error."""
    for number, job in enumerate(jobs, 1):
        if sys.stderr.isatty():
            print(f"\r{what}: {number} of {len(jobs)}\033[K", end="", file=sys.stderr, flush=True)
        yield job


def _pair_plan(number: int) -> ScenePlan:
    return prepare(SimulatorOptions(), related(number))


def _annotations(
    options: SimulatorOptions,
    request: Callable[[int], ImageRequest],
    layouts: int,
    job: tuple[range, list[ScenePlan]],
) -> list[Truth]:
    """Return the ground truth of scenes: of these plans with new faults, or of things without a place."""
    numbers, plans = job
    if not plans:
        requests = [request(number) for number in numbers]
        return [_shown(_nowhere(options, one), one, False) for one in requests]
    truths = []
    for number, plan in zip(numbers, plans, strict=True):
        again, own = divmod(number, layouts)
        asked = request(own)
        prompt, seed, salt = key_of(options, asked)
        draw = Draw(faults_of(options), prompt, seed + again * 1_000_000, salt)
        truths.append(_shown(err(plan, asked, draw), asked, True))
    return truths


def _nowhere(options: SimulatorOptions, request: ImageRequest) -> PlacedScene:
    """Return the scene of a request before the layout, without places."""
    cast, key = cast_of(options, request), key_of(options, request)
    right, wrong = (
        tuple(pose(slot, thing, *key) for slot, thing in enumerate(things))
        for things in (cast.things, cast.instead)
    )
    plan = ScenePlan(PlacedScene(_NOWHERE, right), wrong, pose(len(right), cast.extra, *key))
    return err(plan, request, Draw(faults_of(options), *key))


def _shown(scene: PlacedScene, request: ImageRequest, laid: bool) -> Truth:
    """Return the annotations of a scene that is not rendered, with empty masks."""
    instances = tuple(annotation(placed, _mask(placed, scene, laid)) for placed in scene.placed)
    return Truth((10_000, 10_000), instances, request.prompt.scene, request.prompt.text)


def _mask(placed: Placed, scene: PlacedScene, laid: bool) -> PackedMask:
    x0, y0, x1, y1 = (round(10_000 * side) for side in box_of(placed, scene.stage)) if laid else (0, 0, 0, 0)
    return PackedMask((10_000, 10_000), (x0, y0, x1, y1), b"")


def _agrees(options: SimulatorOptions, request: ImageRequest) -> bool:
    """Return whether the annotations of the rendered picture equal those computed without rendering."""
    drawn = simulate(options, request)
    assert isinstance(drawn, Generated), drawn
    assert drawn.truth is not None
    assert request.prompt.scene is not None
    seen = drawn.truth.instances
    laid = _shown(err(prepare(options, request), request, Draw(faults_of(options), *key_of(options, request))),
                  request, True).instances  # fmt: skip
    same = _facts(seen) == _facts(laid)
    if request.prompt.scene.relations:
        return same and relation_of(*seen[:2]) == relation_of(*laid[:2])
    return same and _facts(seen) == _facts(_shown(_nowhere(options, request), request, False).instances)


def _facts(instances: Sequence[Instance]) -> list[tuple[Any, ...]]:
    return [(one.cls, one.colour, one.attributes) for one in instances]


def _independence(scenes: int) -> Rows:
    """Test, with all faults at once, that they are independent of each other."""
    happened = _decisions(scenes)
    for (one, slot), (other, its) in combinations(_EVENTS, 2):
        # A third thing is needed only for two events of the same fault.
        if one != other and 2 in (*slot, *its):
            continue
        counts = Counter(zip(happened[one, slot], happened[other, its], strict=True))
        both = [(a, b) for a in (True, False) for b in (True, False)]
        shares = [(RATE if a else 1 - RATE) * (RATE if b else 1 - RATE) for a, b in both]
        what = f"{one} and {other}" if one != other else f"{one} of two things"
        yield spread(_ALL, f"{what}: both, one, the other, none", shares, [counts[cell] for cell in both])


def _indifference(plans: Sequence[ScenePlan]) -> Rows:
    """Test, with all faults at once, that they are independent of the second thing's place and of the light."""
    happened = _decisions(len(plans))
    for fault, slot in _EVENTS:
        if 2 in slot:
            continue
        for name, read in _QUANTITIES.items():
            values = [read(plan) for plan in plans]
            yield alike(_ALL, f"{name}, without {fault} and with it", values, happened[fault, slot])


def _decisions(scenes: int) -> dict[tuple[str, tuple[int, ...]], list[bool]]:
    """Return, for each event, in which scenes it happens."""
    faults = FaultRates(**dict.fromkeys(_FAULTS, RATE))
    draws = [Draw(faults, *key_of(SimulatorOptions(), related(number))) for number in range(scenes)]
    return {(fault, slot): [draw.happens(fault, *slot) for draw in draws] for fault, slot in _EVENTS}


_ALL = f"all faults at {RATE}"
_FAULTS = ("drop", "wrong_object", "wrong_color", "swap_colors", "extra", "flip_relation")
#: Faults and the thing that they apply to: the second, because the first is never dropped, or the third.
_EVENTS: tuple[tuple[str, tuple[int, ...]], ...] = (
    *((fault, (slot,)) for slot in (1, 2) for fault in _FAULTS[:3]),
    *((fault, ()) for fault in _FAULTS[3:]),
)
_QUANTITIES: dict[str, Callable[[ScenePlan], float]] = {
    "u": lambda plan: plan.scene.placed[1].place.u,
    "v": lambda plan: plan.scene.placed[1].place.v,
    "width": lambda plan: plan.scene.placed[1].place.width,
    "size": lambda plan: plan.scene.placed[1].scale,
    "yaw": lambda plan: plan.scene.placed[1].yaw,
    "camera's elevation": lambda plan: plan.scene.stage.elevation,
    "sun's azimuth": lambda plan: plan.scene.stage.sun_azimuth,
    "sun's light": lambda plan: plan.scene.stage.sun,
}


def main() -> None:
    """Print the table. Exit with code 1 if a row fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=5000, help="of each setting")
    parser.add_argument("--layouts", type=int, default=1000)
    parser.add_argument("--drawn", type=int, default=14, help="of each setting")
    parser.add_argument("--workers", type=int, default=None)
    rows = list(run(**vars(parser.parse_args())))
    alarm = ALARM / len(rows)
    print("\n| set | counted | expected | found | of | p | passes |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(row.line(alarm))
    failed = sum(row.p <= alarm for row in rows)
    print(f"\n{len(rows)} rows, alarm {alarm:.2g} each, {failed} failed.")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
