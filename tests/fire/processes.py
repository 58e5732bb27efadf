"""Processes that are killed at any moment, and processes that work at the same time."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from fire import interrupts
from fire.forked import BATCH, Asked, Crew, begun_again, kept_twice, noted
from fire.tally import Case, Difference, difference, rows

GROUP = "processes"
KILLED = -9
#: The exit code of a process that finds a run's folder in use.
IN_USE = 11
#: A run is killed so often at most; then it is let go on to its end.
MOST = 4

#: Brings a process, one way or another, to its end. Returns its exit code.
Strike = Callable[[Crew, Asked], int]


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing befell, and how long it was in each stage, in seconds.

    points: how many things it did to files and the database
    """

    run: Path
    stages: dict[str, float]
    points: int

    @property
    def life(self) -> float:
        """How long it took, in seconds."""
        return sum(self.stages.values())


def cases(folder: Path, tries: int, seed: int) -> Iterator[Case]:
    """Everything that may befall processes: `tries` kills of each kind, and fewer of what takes long."""
    rng = random.Random(seed)
    few = max(1, tries // 10)
    with Crew() as crew:
        whole = {kind: undisturbed(crew, folder, kind) for kind in ("scores", "data")}
        yield from kills(crew, folder, whole, tries, rng)
        yield from shares(crew, folder, whole["scores"], few, rng)
        yield in_use(crew, folder, whole["scores"], few, rng)
        yield one_cache(crew, folder, whole, few)
        yield wrong_clocks(crew, folder, whole["scores"], few, rng)
    yield from interrupts.cases(folder, max(1, tries // 20), rng)


def undisturbed(crew: Crew, folder: Path, kind: str) -> Undisturbed:
    """Run once, with nothing amiss (after once more, for the first process is slower than all others)."""
    for name in ("first", "undisturbed"):
        asked = Asked(str(folder / f"{kind}-{name}"), kind, point=0)
        succeed(crew.finish(asked), asked)
    stages: dict[str, float] = {}
    lines = [line for line in noted(asked.log) if line.what == "stage"]
    for line, following in pairwise(lines):
        stages[line.of] = stages.get(line.of, 0.0) + following.at - line.at
    return Undisturbed(asked.run, stages, int(lines[-1].of.split()[2]))


def succeed(code: int, asked: Asked) -> None:
    """Make sure that a process that was not killed ended well."""
    if code:
        raise RuntimeError(f"{asked}: exit code {code}: {asked.said.read_text()}")


# kills --------------------------------------------------------------------------------------------------------


def kills(
    crew: Crew, folder: Path, whole: dict[str, Undisturbed], tries: int, rng: random.Random
) -> Iterator[Case]:
    """kill -9 at random moments of a whole life, in each stage, and before single changes to files."""
    scores, data = whole["scores"], whole["data"]
    yield killed(crew, folder, "killed at any moment", scores, tries, at_any_moment(scores, rng))
    for stage in ("opening", "generating", "judging", "measuring", "writing"):
        strike = in_stage(stage, scores.stages[stage], rng)
        yield killed(crew, folder, f"killed while {stage}", scores, tries, strike)
    strike = at_a_change(scores, rng)
    yield killed(crew, folder, "killed before a change to a file or the database", scores, tries, strike)
    strike = at_any_moment(data, rng)
    yield killed(crew, folder, "data set: killed at any moment", data, tries, strike)
    strike = in_stage("writing", data.stages["writing"], rng)
    yield killed(crew, folder, "data set: killed while writing", data, tries, strike)
    strike = at_a_change(data, rng)
    yield killed(crew, folder, "data set: killed before a change", data, tries, strike)


def at_any_moment(whole: Undisturbed, rng: random.Random) -> Strike:
    """Kill at a moment of a whole life, each as likely."""

    def strike(crew: Crew, asked: Asked) -> int:
        process = crew.start(asked)
        time.sleep(rng.uniform(0, whole.life))
        return crew.kill(process)

    return strike


def in_stage(stage: str, seconds: float, rng: random.Random) -> Strike:
    """Kill at a moment of one stage, once that has begun."""

    def strike(crew: Crew, asked: Asked) -> int:
        process = crew.start(asked)
        while not any(line.process == process and line.of == stage for line in noted(asked.log)):
            if _gone(process):
                return crew.wait(process)
            time.sleep(0.001)
        time.sleep(rng.uniform(0, seconds))
        return crew.kill(process)

    return strike


def at_a_change(whole: Undisturbed, rng: random.Random) -> Strike:
    """Kill before one of the changes that a run makes to files and the database, each as likely."""

    def strike(crew: Crew, asked: Asked) -> int:
        return crew.finish(replace(asked, point=rng.randint(1, whole.points)))

    return strike


def _gone(process: int) -> bool:
    """Whether a process has ended; it is a zombie then, until it is waited for."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def killed(crew: Crew, folder: Path, name: str, whole: Undisturbed, wanted: int, strike: Strike) -> Case:
    """Kill runs, each one several times, until there were so many kills; each goes on to its end.

    After each kill, whatever has its name must be whole already.
    """
    kind = "data" if whole.run.parent.name.startswith("data") else "scores"
    final = _files(whole.run)
    struck = compared = again = number = 0
    total = Difference()
    while struck < wanted and number < 10 * wanted:
        number += 1
        asked = Asked(str(folder / f"{name.replace(' ', '-').replace(':', '')}-{number}"), kind)
        for _ in range(MOST):
            code = strike(crew, asked) if struck < wanted else crew.finish(asked)
            if code != KILLED:
                break
            struck += 1
            total += Difference(differing=_half(asked.run, final))
        succeed(crew.finish(asked) if code == KILLED else code, asked)
        again += begun_again(asked.log)
        compared += len(rows(whole.run))
        total += held(asked, whole)
    if struck < wanted:
        raise RuntimeError(f"{name}: {struck} kills of {wanted} in {number} runs")
    # what was in flight is done twice, and no more
    total += Difference(lost=max(0, again - BATCH * struck))
    return Case(GROUP, name, struck, compared, total, f"{number} runs; {again} items begun again")


def held(asked: Asked, whole: Undisturbed) -> Difference:
    """Hold a run to the undisturbed one; what was kept and made again was lost. What differs stays for a look."""
    found = difference(asked.run, whole.run) + Difference(lost=kept_twice(asked.log))
    if found == Difference():
        shutil.rmtree(asked.folder)
    return found


def _files(run: Path) -> dict[str, str]:
    """The digests of a run's tables, images and data sets, by their names."""
    files = (p for p in run.rglob("*") if p.is_file() and not p.name.startswith(".") and p.name != "run.json")
    return {str(p.relative_to(run)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def _half(run: Path, final: dict[str, str]) -> int:
    """How many files of a killed run have their names, but not what will be in them at the end."""
    return sum(final.get(name) != digest for name, digest in _files(run).items())


# several processes --------------------------------------------------------------------------------------------


def shares(crew: Crew, folder: Path, whole: Undisturbed, tries: int, rng: random.Random) -> Iterator[Case]:
    """Two and four processes that share the work, without and with kills among them."""
    for parts in (2, 4):
        yield shared(crew, folder, f"{parts} processes share the work", whole, parts, tries, None)
        strike = at_any_moment(whole, rng)
        yield shared(crew, folder, f"{parts} processes share the work and are killed", whole, parts, tries, strike)


def shared(
    crew: Crew, folder: Path, name: str, whole: Undisturbed, parts: int, tries: int, strike: Strike | None
) -> Case:
    """Have shards work at the same time, and score the whole then."""
    total, compared, struck = Difference(), 0, 0
    for number in range(tries):
        place = folder / f"{name.replace(' ', '-')}-{number}"
        asked = Asked(str(place))
        shards = [replace(asked, shard=f"{i}/{parts}") for i in range(1, parts + 1)]
        if strike is not None:
            for shard in shards:
                others = [(crew.start(other), other) for other in shards if other is not shard]
                struck += strike(crew, shard) == KILLED
                for process, other in others:
                    succeed(crew.wait(process), other)
        for process, shard in [(crew.start(shard), shard) for shard in shards]:
            succeed(crew.wait(process), shard)
        made = {line.of for line in noted(asked.log) if line.what == "kept"}
        succeed(crew.finish(asked), asked)
        # nothing is left for the run that scores
        late = {line.of for line in noted(asked.log) if line.what == "kept"} - made
        compared += len(rows(whole.run))
        total += held(asked, whole) + Difference(lost=len(late))
    return Case(GROUP, name, tries, compared, total, f"{struck} kills" if strike else "each item made once in all")


def in_use(crew: Crew, folder: Path, whole: Undisturbed, tries: int, rng: random.Random) -> Case:
    """The same run, or the same part of it, started a second time while the first is at work."""
    total, compared, refused = Difference(), 0, 0
    for number in range(tries):
        asked = Asked(str(folder / f"twice-{number}"), shard=rng.choice([None, "1/1"]), pause=0.005)
        first = crew.start(asked)
        while not any(line.what == "began" for line in noted(asked.log)):
            time.sleep(0.001)
        # well before its end, also where the undisturbed run was measured on a busier machine
        time.sleep(rng.uniform(0, whole.stages["generating"] / 4))
        code = crew.finish(asked)
        said = asked.said.read_text()
        if code:
            refused += 1
            if code != IN_USE or said.count("\n") != 1 or "another process works on" not in said:
                raise RuntimeError(f"{asked}: exit code {code}: {said}")
        succeed(crew.wait(first), asked)
        alone = replace(asked, shard=None)
        succeed(crew.finish(alone), alone)
        compared += len(rows(whole.run))
        total += held(alone, whole)
    return Case(
        GROUP, "started twice at once", tries, compared, total, f"{refused} refused in one line, exit code 11"
    )


def one_cache(crew: Crew, folder: Path, whole: dict[str, Undisturbed], tries: int) -> Case:
    """Three runs at once on one cache: the same scores in two folders, and a data set of the same images."""
    total, compared = Difference(), 0
    for number in range(tries):
        place = folder / f"cache-{number}"
        wanted = [Asked(str(place), kind, name) for kind, name in
                  (("scores", "a"), ("scores", "b"), ("data", "c"))]  # fmt: skip
        for process, asked in [(crew.start(asked), asked) for asked in wanted]:
            succeed(crew.wait(process), asked)
        for asked in wanted:
            total += difference(asked.run, whole[asked.kind].run)
            compared += len(rows(whole[asked.kind].run))
        if total == Difference():
            shutil.rmtree(place)
    return Case(GROUP, "three runs at once on one cache", tries, compared, total)


# clocks -------------------------------------------------------------------------------------------------------


def wrong_clocks(crew: Crew, folder: Path, whole: Undisturbed, tries: int, rng: random.Random) -> Case:
    """A clock that jumps back while a run goes on, is killed and goes on, and files dated in past and future."""
    total, compared = Difference(), 0
    for number in range(tries):
        asked = Asked(str(folder / f"clock-{number}"), clock=rng.randrange(1000))
        at_any_moment(whole, rng)(crew, asked)
        for path in (p for p in Path(asked.folder).rglob("*") if p.is_file()):
            moment = time.time() + rng.uniform(-10, 10) * 365 * 86400
            os.utime(path, (moment, moment))
        succeed(crew.finish(replace(asked, clock=rng.randrange(1000))), asked)
        compared += len(rows(whole.run))
        total += held(asked, whole)
    return Case(GROUP, "clock and files' times jump by years", tries, compared, total)
