from __future__ import annotations

import io

import pytest
from rich.console import Console
from t2i_cli import interrupts
from t2i_core.api.progress_display import Lines, format_duration
from t2i_core.results.number_format import format_interval, format_number
from t2i_core.results.result import Score
from t2i_core.results.score_tables import print_results


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_lines_come_from_time_to_time():
    stream, clock = io.StringIO(), Clock()
    lines = Lines(stream, clock, every=10)
    with lines.task("images of grey", 100, "images") as task:
        for _ in range(50):
            clock.now += 1
            task.advance()
        clock.now += 50
        task.advance(50)
    assert stream.getvalue().splitlines() == [
        "images of grey: 10/100 images, 1/s, 1:30 left",
        "images of grey: 20/100 images, 1/s, 1:20 left",
        "images of grey: 30/100 images, 1/s, 1:10 left",
        "images of grey: 40/100 images, 1/s, 1:00 left",
        "images of grey: 50/100 images, 1/s, 50 s left",
        "images of grey: 100/100 images, 1/s, 0.0 s left",
        "images of grey: 100/100 images in 1:40",
    ]


def test_failed_items_are_counted_apart():
    stream = io.StringIO()
    with Lines(stream, Clock()).task("images of grey", 2, "images") as task:
        task.advance()
        task.advance(failed=1)
    assert stream.getvalue() == "images of grey: 2/2 images, 1 failed in 0.0 s\n"


def test_a_stage_without_work_says_nothing():
    stream = io.StringIO()
    with Lines(stream).task("nothing", 0, "images"):
        pass
    assert stream.getvalue() == ""


def test_an_interrupt_that_was_swallowed_is_raised_at_the_next_stage_or_item(monkeypatch):
    lines = Lines(io.StringIO(), check=interrupts.raise_interrupt)
    with lines.task("images", 2, "images") as task:
        task.advance()
        monkeypatch.setattr(interrupts, "_received", [2])
        with pytest.raises(KeyboardInterrupt):
            task.advance()
    with pytest.raises(KeyboardInterrupt), lines.task("answers", 2, "queries"):
        pytest.fail("the stage began")


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.21, "3.2 s"), (42, "42 s"), (59.7, "1:00"), (200, "3:20"), (7500, "2:05:00")]
)
def test_durations(seconds, text):
    assert format_duration(seconds) == text


def test_numbers():
    assert [format_number(v) for v in (None, 0, 0.5, 0.00012, 12.34, 1012.3)] == [
        "-",
        "0.000",
        "0.500",
        "0.00012",
        "12.3",
        "1012.3",
    ]
    assert format_interval([0.25, 0.75]) == "[0.250, 0.750]"
    assert format_interval([None, None]) == format_interval(None) == "-"


def test_facets_with_many_levels_are_shown_by_their_ends(make_result):
    levels = {str(seed): Score(value=seed / 100, ci=[0.0, 1.0]) for seed in range(20)}
    result = make_result("[b]", n_missing=2, facets={"m": {"seed": levels}})
    console = Console(file=io.StringIO(), width=200)
    print_results(console, [result], [])
    text = console.file.getvalue()
    assert "lowest of 20: 0" in text
    assert "highest of 20: 19" in text
    assert "[b]" in text
