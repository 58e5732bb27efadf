"""After any sequence of kills, interrupts and damage, the same command gives the undisturbed run's results.

Hypothesis draws the sequences and shortens those that fail. For a longer search:
uv run pytest -n0 tests/faults/test_states.py --hypothesis-profile thorough
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from t2i_core.storage.store import DATABASE

from faults.command import (
    EVENTS,
    IN_FLIGHT,
    INTERRUPTED,
    KILLED,
    UNUSABLE,
    Command,
    ForkServer,
    Outcome,
    Undisturbed,
    count_begun_again,
    count_kept_twice,
)
from faults.damage import DATABASE_DAMAGE, FILE_DAMAGE, IMAGE_DAMAGE, DamageFile, alter, change_rows
from faults.run_rows import hash_finished_files, read_rows

GOOD_EVENTS = sorted(name for name in EVENTS if "read-only" not in name and name != "interrupt")
RUN_FILES = ("run.json", "samples.csv", "measurements.csv", "failures.csv", ".plan")

fractions = st.integers(0, 999).map(lambda n: n / 1000)
"""A place in a list whose length is known only later."""

seeds = st.integers(0, 2**16)


def pick(items: Sequence[Any], fraction: float) -> Any:
    """Return the item at a fraction of the way through a sequence."""
    return items[int(fraction * len(items))]


class DisturbedRun(RuleBasedStateMachine):
    """One run, its cache, and everything that can happen to them."""

    server: ForkServer
    undisturbed: dict[str, Undisturbed]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.stops = 0
        self.cache_is_intact = self.run_is_intact = True

    @initialize(kind=st.sampled_from(("scores", "data")))
    def begin(self, kind: str) -> None:
        self.command = Command(str(self.folder), kind, in_order=True)  # hypothesis repeats what it has drawn
        self.expected = self.undisturbed[kind]
        self.files = hash_finished_files(self.expected.run)

    # --- the command

    @rule()
    def finish(self) -> None:
        self.check(self.server.run(self.command))

    @rule(stage=fractions, place=fractions)
    def kill(self, stage: float, place: float) -> None:
        """Kill the process before any change of any stage; each stage is as likely."""
        changes = pick(list(self.expected.changes.values()), stage)
        self.check(self.server.run(self.with_faults(kill_at=pick(changes, place))), KILLED)

    @rule(step=fractions)
    def interrupt(self, step: float) -> None:
        at = 1 + pick(range(self.expected.steps), step)
        self.check(self.server.run(self.with_faults(event="interrupt", step=at)), INTERRUPTED)

    @rule(part=st.sampled_from(("1/2", "2/2")))
    def run_a_part(self, part: str) -> None:
        outcome = self.server.run(self.with_faults(shard=part))
        self.check_error(outcome)

    @rule(clock=seeds, place=fractions)
    def kill_with_a_wrong_clock(self, clock: int, place: float) -> None:
        at = pick(range(1, self.expected.changes["writing"].stop), place)
        self.check(self.server.run(self.with_faults(clock=clock, kill_at=at)), KILLED)

    @rule(size=st.integers(1000, 200_000))
    def run_with_a_limit_on_files(self, size: int) -> None:
        self.check(self.server.run(self.with_faults(max_file_bytes=size)))

    @rule(pages=st.integers(8, 20))
    def run_with_a_full_database(self, pages: int) -> None:
        self.check(self.server.run(self.with_faults(max_database_pages=pages)))

    @rule(event=st.sampled_from(GOOD_EVENTS), step=fractions)
    def run_while_something_happens(self, event: str, step: float) -> None:
        at = 1 + pick(range(self.expected.steps), step)
        self.cache_is_intact = False
        self.run_is_intact &= event != "remove the run folder"
        self.check(self.server.run(self.with_faults(event=event, step=at)))

    # --- damage between two commands

    @rule(
        damage=st.sampled_from(IMAGE_DAMAGE), where=st.sampled_from(("cache", "run")), place=fractions, seed=seeds
    )
    def damage_an_image(self, damage: DamageFile, where: str, place: float, seed: int) -> None:
        self.damage(damage, sorted((self.folder / where).glob("images/*/*.png")), place, seed)

    @rule(damage=st.sampled_from(DATABASE_DAMAGE), seed=seeds)
    def damage_the_database(self, damage: DamageFile, seed: int) -> None:
        self.damage(damage, [file for file in [self.command.cache / DATABASE] if file.exists()], 0, seed)

    @rule(damage=st.sampled_from(DATABASE_DAMAGE), place=fractions, seed=seeds)
    def damage_the_journal(self, damage: DamageFile, place: float, seed: int) -> None:
        self.damage(damage, sorted(self.command.cache.glob(f"{DATABASE}-*")), place, seed)

    @rule(seed=seeds)
    @precondition(lambda self: (self.command.run / "run.json").exists() and self.cache_is_intact)
    def change_rows_of_the_database(self, seed: int) -> None:
        self.cache_is_intact = False
        change_rows(self.command.cache / DATABASE, random.Random(seed))

    @rule(damage=st.sampled_from(FILE_DAMAGE), name=st.sampled_from(RUN_FILES), seed=seeds)
    def damage_a_file_of_the_run(self, damage: DamageFile, name: str, seed: int) -> None:
        file = self.command.run / name
        # nothing protects run.json against an edit that leaves it a manifest
        if file.exists() and (name, damage) != ("run.json", alter):
            self.damage(damage, [file], 0, seed)

    @rule(what=st.sampled_from(("cache", "run")))
    def put_a_file_in_the_way(self, what: str) -> None:
        path = self.folder / what
        shutil.rmtree(path, ignore_errors=True)
        path.write_text("in the way")
        outcome = self.server.run(self.command)
        assert outcome.code == UNUSABLE, outcome
        assert str(path) in outcome.error
        self.check_error(outcome)
        path.unlink()
        self.cache_is_intact &= what != "cache"

    # --- what must hold

    def with_faults(self, **faults: Any) -> Command:
        return Command(self.command.folder, self.command.kind, **faults)

    def damage(self, damage: DamageFile, files: list[Path], place: float, seed: int) -> None:
        files = [file for file in files if file.stat().st_size]
        if files:
            damage(pick(files, place), random.Random(seed))
            self.cache_is_intact = self.run_is_intact = False  # images of both are links to the same file

    def check(self, outcome: Outcome, *stops: int) -> None:
        """Check how a command ended: with the undisturbed results, as it was stopped, or with an error line."""
        if outcome.finished:
            assert read_rows(self.command.run) == self.expected.rows
            self.run_is_intact = True
        elif outcome.code in stops:
            assert outcome.error == ""
            self.stops += 1
        else:
            self.stops += 1
            self.check_error(outcome)
        if self.run_is_intact:
            written = hash_finished_files(self.command.run)
            assert written.items() <= self.files.items(), "a file has its final name, but not its final content"
        if self.cache_is_intact:
            assert count_kept_twice(self.command.log) == 0
            assert count_begun_again(self.command.log) <= IN_FLIGHT * self.stops

    def check_error(self, outcome: Outcome) -> None:
        """Check that a command that did not finish says why in one line, and do what the line says."""
        if outcome.finished:
            return
        assert outcome.code == UNUSABLE, outcome
        assert outcome.error.startswith("error: "), outcome
        assert outcome.error.count("\n") == 1, outcome
        if "remove it and all files whose names begin like it" in outcome.error:
            for file in self.command.cache.glob(f"{DATABASE}*"):
                file.unlink()
        elif "remove the folder" in outcome.error or "name another folder with --out" in outcome.error:
            shutil.rmtree(self.command.run, ignore_errors=True)

    def teardown(self) -> None:
        if hasattr(self, "command"):
            outcome = self.server.run(self.command)
            self.check(outcome)
            if not outcome.finished:  # an error that says what to do; that was done
                outcome = self.server.run(self.command)
                self.check(outcome)
            assert outcome.finished, outcome
        shutil.rmtree(self.folder)


@pytest.mark.parametrize(
    "sequences", [3, pytest.param(12, marks=pytest.mark.long), pytest.param(40, marks=pytest.mark.slow)]
)
def test_every_disturbed_run_ends_with_the_undisturbed_results(
    sequences: int, server: ForkServer, undisturbed: dict[str, Undisturbed]
) -> None:
    DisturbedRun.server, DisturbedRun.undisturbed = server, undisturbed
    quick = settings(max_examples=sequences, stateful_step_count=6, derandomize=False)
    profile = settings() if settings.get_current_profile_name() == "thorough" else quick
    slow = settings(profile, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
    run_state_machine_as_test(DisturbedRun, settings=slow)
