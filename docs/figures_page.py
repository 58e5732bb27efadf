"""Draw each figure of each metric on one page: ``python docs/figures_page.py OUT``.

The images are rendered by the simulator at a low quality, with faults that differ between models. People's answers
are made up. OUT keeps the runs, so that the same command goes on, and OUT/figures.html the page; it follows the
light or dark theme of the browser.
"""

from __future__ import annotations

import argparse
import csv
import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from t2i_core import ModelRequest, evaluate
from t2i_core.api.resolver import installed_resolver
from t2i_core.api.study import Analysis
from t2i_core.results.analysis import analyze_run, list_metrics
from t2i_core.results.figures import draw_svg
from t2i_core.results.figures.look import PAGE_STYLE, follow_theme
from t2i_core.results.run import Run

HEAD = f"""<!doctype html>
<meta charset="utf-8">
<title>Figures of all metrics</title>
<style>
{PAGE_STYLE}
:root {{ color-scheme: light dark; }}
body {{ margin: 1rem; font: 14px/1.4 system-ui, sans-serif; background: #fff; color: #1b1b1a; }}
figure {{ display: inline-block; vertical-align: top; margin: 0 1.5rem 1.5rem 0; }}
figcaption {{ max-width: 44rem; font-weight: 600; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #232321; color: #f0efe9; }} }}
</style>
"""

QUICK = {"size": 64, "spp": 1}
FAULTS: Mapping[str, Mapping[str, Any]] = {
    "careful": {"drop": 0.1, "wrong_color": 0.1, "flip_relation": 0.2},
    "forgetful": {"drop": 0.4, "wrong_color": 0.2, "seed_sd": 1.0},
    "confused": {"wrong_object": 0.3, "swap_colors": 0.5, "prompt_sd": 1.0},
}


def list_models(*names: str) -> list[ModelRequest]:
    """Return models that make faults."""
    return [ModelRequest("simulator", name, {**QUICK, **FAULTS[name]}) for name in names or FAULTS]


def evaluate_into(folder: Path, metric: str | list[str], models: Sequence[ModelRequest], **options: Any) -> Run:
    """Return a finished run; what OUT has is not made again."""
    return evaluate(metric, models, out=folder, progress=True, **options)


def write_csv(path: Path, columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> Path:
    """Write a table, and return its path."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def make_runs(out: Path) -> Iterator[tuple[Run, Sequence[str]]]:
    """Yield each run, and the options of its analyses."""
    places = {"prompts": ["tiam-5-2", "tiam-5-3", "tiam-5-3-comma"], "limit": 30, "seeds": 4}
    yield evaluate_into(out / "tiam", "tiam", list_models(), judge="oracle", **places), ["tiam.mined=1"]
    colours = {"prompts": ["tiam-color-1"], "limit": 16, "seeds": 2}
    yield evaluate_into(out / "colours", "tiam", list_models("careful", "confused"), judge="oracle", **colours), []
    run = evaluate_into(out / "skills", "paintskills", list_models(), limit=24, seeds=1, judge="oracle")
    rows = run.samples().itertuples()
    answers = (
        (row.model, row.prompt, row.seed, who, "yes" if (i + row.seed) % 3 else "no")
        for i, row in enumerate(rows)
        for who in "ab"
    )
    columns = ("model", "prompt", "seed", "annotator", "answer")
    yield run, [f"paintskills.answers={write_csv(out / 'skills.csv', columns, answers)}"]
    skewed = [
        ModelRequest("simulator", name, {**QUICK, "skew": skew})
        for name, skew in (("even", ""), ("skewed", "hat:yes:0.9,hair:long:0.8"))
    ]
    run = evaluate_into(out / "bias", "bias", skewed, limit=8, seeds=4, judge="oracle")
    prompts = dict.fromkeys((row.model, row.prompt) for row in run.samples().itertuples())
    said = (
        (model, prompt, who, "hat", "no hat" if i % 3 else "hat")
        for i, (model, prompt) in enumerate(prompts)
        for who in "ab"
    )
    columns = ("model", "prompt", "annotator", "question", "answer")
    yield run, [f"bias.people={write_csv(out / 'bias.csv', columns, said)}"]
    elo = {"prompts": ["tiam-5-2"], "limit": 12, "seeds": 2}
    other = evaluate_into(
        out / "elo-one-order", "elo", list_models(), **elo, options={"elo": {"both_orders": False}}
    )
    yield evaluate_into(out / "elo", ["elo", "reward"], list_models(), **elo), [f"elo.beside={other.folder}"]
    rates = (0.0, 0.3, 0.6)
    sweep = [ModelRequest("simulator", f"wrong {rate}", {**QUICK, "wrong_object": rate}) for rate in rates]
    kinds = {"prompts": ["wordnet-mini"], "seeds": 4}
    run = evaluate_into(out / "synsets", ["isp", "scs"], sweep, **kinds)
    synsets = list(dict.fromkeys(run.samples()["prompt"]))
    votes = (
        (synset, "wrong 0.0", "wrong 0.6", who, "tie" if i % 5 == 4 else "b" if i % 4 == 3 else "a")
        for i, synset in enumerate(synsets)
        for who in "xyz"
    )
    columns = ("synset", "model_a", "model_b", "annotator", "choice")
    yield run, [f"isp.preferences={write_csv(out / 'preferences.csv', columns, votes)}"]
    terms = {"selfeval": {"exact": True, "trials": 2, "steps": 4}}
    own = {"prompts": ["selfeval-mini"], "limit": 8, "options": terms}
    yield (
        evaluate_into(out / "selfeval", "selfeval", [ModelRequest("mini"), ModelRequest("mini-early")], **own),
        [],
    )


def has_interval(analysis: Analysis) -> bool:
    """Return whether a figure draws intervals, or has no place for them."""
    figure = analysis.figure
    data = getattr(figure, "data", None)
    columns = (analysis.table if data is None else data).columns
    ends = getattr(figure, "interval", ())
    return not ends or getattr(figure, "stacked", False) or set(ends) <= set(columns)


def draw_run(run: Run, options: Sequence[str]) -> Iterator[str]:
    """Yield the figures of a run as HTML, and print the names of those without intervals."""
    resolver = installed_resolver()
    for metric, analysis in analyze_run(
        run, list_metrics(run, resolver), resolver, resolver.read_options(options)
    ):
        if analysis.figure is not None:
            caption = html.escape(f"{metric} {analysis.name}: {analysis.summary}")
            if not has_interval(analysis):
                print(f"without intervals: {metric} {analysis.name} ({type(analysis.figure).__name__})")
            svg = follow_theme(draw_svg(analysis.figure, analysis.table))
            yield f"<figure><figcaption>{caption}</figcaption>{svg}</figure>\n"


def main() -> None:
    """Read the command line, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with (out / "figures.html").open("w", encoding="utf-8") as page:
        page.write(HEAD)
        for run, options in make_runs(out):
            page.write(f"<h2>{html.escape(run.folder.name)}</h2>\n")
            page.writelines(draw_run(run, options))
            page.flush()


if __name__ == "__main__":
    main()
