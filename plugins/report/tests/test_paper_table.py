"""Tables for papers: the runs' scores, bold only where sure, which LaTeX, Typst and Markdown read."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import typst
from markdown_it import MarkdownIt
from t2i_core.api.errors import UnknownName
from t2i_core.results.correction import Correction, LabelScore
from t2i_core.results.looks import PlannedLook, StoppingRecord
from t2i_core.results.result import Comparison
from t2i_core.results.run import Run
from t2i_core.testing import StaticResolver
from t2i_report.compare import compare
from t2i_report.papers.differences import make_difference_table
from t2i_report.papers.formats import format_paper_table
from t2i_report.papers.groups import collect_groups
from t2i_report.papers.table import PaperCell, PaperNote, PaperTable, format_decimals, make_paper_table
from t2i_report.papers.width import TEXT_WIDTH, estimate_width, fit_width

from .conftest import MakeRun

HOSTILE = [
    "plain", "under_score", "50 % & more", "#1 $x$", "~tilde^hat", "back\\slash", "pi|pe", "*star* **two**",
    "`tick`", "[bracket]", "<b>tag</b>", "{brace}", "a -- b --- c", "quote \"q\" 'q'", "\\begin{x} \\input{y}",
    "#import \"x\" @ref = head", "https://x.org/a_b", "&amp; &lt;", "- list", "1. list", "éü", "!?",
]  # fmt: skip
TABLE = PaperTable(
    "Scores of 100 % & more: a|b_c.",
    ["model", "m_1 ↑", "m|2 ↓", "[3]"],
    [
        (name, [PaperCell("0.5", "[−0.1, 0.9]", True), PaperCell("−0.250", "± 0.100"), PaperCell("–")])
        for name in HOSTILE
    ],
    [PaperNote("m_1", "12 prompts × 2 seeds.", "metric:m_1|prompts:a~b(12)#1234abcd|judge:x^y|seeds:0-1"),
     PaperNote("m|2", "No signature.")],
)  # fmt: skip
PDFLATEX, PDFTOTEXT = shutil.which("pdflatex"), shutil.which("pdftotext")
needs_latex = pytest.mark.skipif(
    PDFLATEX is None or PDFTOTEXT is None,
    reason="no LaTeX here: apt-get install texlive-latex-recommended poppler-utils",
)


def read_pdf(path: Path) -> str:
    assert PDFTOTEXT is not None
    done = subprocess.run([PDFTOTEXT, "-layout", path, "-"], capture_output=True, text=True, check=True)
    return done.stdout


def compile_latex(table: PaperTable, folder: Path, encoding: str = "") -> str:
    """Compile a table with booktabs as the only package; return the text of the page."""
    assert PDFLATEX is not None
    body = format_paper_table(table, "latex")
    head = f"\\documentclass{{article}}\n{encoding}\\usepackage{{booktabs}}\n"
    (folder / "page.tex").write_text(f"{head}\\begin{{document}}\n{body}\\end{{document}}\n", "utf-8")
    command = [PDFLATEX, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    return read_pdf(folder / "page.pdf")


@needs_latex
def test_latex_compiles_and_shows_every_name(tmp_path: Path) -> None:
    text = compile_latex(TABLE, tmp_path, "\\usepackage[T1]{fontenc}\n")
    shown = "".join(text.replace("\x11", '"').split())  # pdftotext does not know the quotes of these fonts
    assert [name for name in HOSTILE if "".join(name.split()) not in shown] == []
    assert "|" not in format_paper_table(TABLE, "latex")  # no vertical lines, as booktabs wants it


@needs_latex
def test_latex_compiles_with_booktabs_alone(tmp_path: Path) -> None:
    text = compile_latex(TABLE, tmp_path)
    assert len(re.findall(r"0\.5 \[−0\.1, 0\.9\] +−0\.250 ± 0\.100 +–$", text, re.MULTILINE)) == len(HOSTILE)


def find_right_end(pdf: Path) -> tuple[float, float]:
    """Return where the rightmost word of a page ends, and the width of the page, both in points."""
    assert PDFTOTEXT is not None
    done = subprocess.run([PDFTOTEXT, "-bbox", pdf, "-"], capture_output=True, text=True, check=True)
    page = re.search(r'<page width="([\d.]+)"', done.stdout)
    assert page is not None
    return max(float(end) for end in re.findall(r'xMax="([\d.]+)"', done.stdout)), float(page[1])


def make_wide_table(n_columns: int, n_rows: int) -> PaperTable:
    cell = PaperCell("0.412", "[0.204, 0.620]", True)
    head = ["model", *(f"tiam: object = giraffe {n} ↑" for n in range(n_columns))]
    return PaperTable("Scores.", head, [(f"model {n}", [cell] * n_columns) for n in range(n_rows)], [])


@needs_latex
@pytest.mark.parametrize(("n_columns", "n_rows", "fits"), [(2, 3, True), (9, 2, True), (9, 9, False)])
def test_a_wide_table_has_its_columns_as_rows(tmp_path: Path, n_columns: int, n_rows: int, fits: bool) -> None:
    table = make_wide_table(n_columns, n_rows)
    found = fit_width(table)
    assert (estimate_width(found) <= TEXT_WIDTH) is fits
    assert {len(found.head) - 1, len(found.rows)} == {n_columns, n_rows}
    compile_latex(found, tmp_path)
    end, page = find_right_end(tmp_path / "page.pdf")
    assert (end <= (page + TEXT_WIDTH) / 2) is fits  # the text stands in the middle of the page
    if n_columns == 9:
        assert estimate_width(table) > TEXT_WIDTH
    if fits:  # the table is centred on the page, so its width follows from its right end
        assert estimate_width(found) == pytest.approx(2 * end - page, rel=0.15)


def test_typst_compiles_and_shows_every_name(tmp_path: Path) -> None:
    source = format_paper_table(TABLE, "typst")
    (tmp_path / "page.pdf").write_bytes(typst.compile(f"#set page(height: auto)\n{source}".encode()))
    if PDFTOTEXT is not None:
        shown = "".join(read_pdf(tmp_path / "page.pdf").split())
        assert [name for name in HOSTILE if "".join(name.split()) not in shown] == []


def read_markdown(text: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return the cells of the table, as a reader sees them, and the types of markup in each line of cells."""
    rows: list[list[str]] = []
    kinds: list[list[str]] = []
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
            kinds.append([])
        elif token.type == "table_close":
            return rows, kinds
        elif token.type == "inline":
            rows[-1].append("".join(child.content for child in token.children or ()))
            kinds[-1] += [child.type for child in token.children or () if child.type != "text"]
    raise AssertionError("no table")


def test_markdown_renders_as_one_table_with_every_name() -> None:
    rows, kinds = read_markdown(format_paper_table(TABLE, "markdown"))
    assert rows[0] == list(TABLE.head)
    assert [row[0] for row in rows[1:]] == HOSTILE
    assert all(row[1:] == ["0.5 [−0.1, 0.9]", "−0.250 ± 0.100", "–"] for row in rows[1:])
    assert kinds[1:] == [["strong_open", "strong_close"]] * len(HOSTILE)


def test_cells_are_the_runs_scores(shared_run: Run, resolver: StaticResolver) -> None:
    table = make_paper_table([shared_run], resolver)
    assert table.head == ["model", "bright ↑", "broken (bright) ↓"]
    found = {name: [cell.value for cell in cells] for name, cells in table.rows}
    wanted: dict[str, list[str]] = {}
    for result in shared_run.results:
        wanted.setdefault(result.label, []).append(format_decimals(result.score))
    assert found == wanted
    (first, _) = table.rows
    low, high = shared_run.results[0].ci or (None, None)
    assert first[1][0].interval == f"[{format_decimals(low)}, {format_decimals(high)}]"
    assert [note.title for note in table.notes] == ["bright", "broken"]
    assert [note.signature for note in table.notes] == [
        result.signature for result in shared_run.results if result.label == "dark"
    ]
    assert "light: 1 sample failed" in table.notes[0].text


def test_a_number_has_the_digits_and_the_interval_that_are_asked_for(
    shared_run: Run, resolver: StaticResolver
) -> None:
    table = make_paper_table([shared_run], resolver, ["bright"], 1, "half-width")
    low, high = shared_run.results[0].ci or (None, None)
    assert low is not None
    assert high is not None
    cell = table.rows[0][1][0]
    assert (cell.value, cell.interval) == (f"{shared_run.results[0].score:.1f}", f"± {(high - low) / 2:.1f}")
    plain = make_paper_table([shared_run], resolver, ["bright"], None, "none")
    assert plain.rows[0][1][0].interval == ""
    assert [format_decimals(value, 1) for value in (-0.04, -0.26, None)] == ["0.0", "−0.3", "–"]


def test_columns_are_metrics_named_scores_and_facets(shared_run: Run, resolver: StaticResolver) -> None:
    names = ["broken", "bright.shade,bright.kind", "bright.shade.half=left"]
    table = make_paper_table([shared_run], resolver, names)
    assert table.head == [
        "model", "broken (bright) ↓", "bright: shade ↑", "bright: kind = plain ↑", "bright: kind = hostile ↑",
        "bright: shade, half = left ↑",
    ]  # fmt: skip
    result = shared_run.results[0]
    assert [cell.value for cell in table.rows[0][1][1:3]] == [
        format_decimals(result.scores["shade"].value),
        format_decimals(result.facets["bright"]["kind"]["plain"].value),
    ]
    with pytest.raises(UnknownName, match=r"'bright\.shad'.*bright\.shade"):
        make_paper_table([shared_run], resolver, ["bright.shad"])
    with pytest.raises(UnknownName, match=r"'hostil'.*did you mean 'hostile'"):
        make_paper_table([shared_run], resolver, ["bright.kind=hostil"])
    with pytest.raises(UnknownName, match=r"bright\.kind has plain, hostile"):
        make_paper_table([shared_run], resolver, ["bright.kind=cat"])


def find_bold(run: Run, resolver: StaticResolver, p: float | None) -> list[str]:
    """Return the models that are bold if the difference has this p-value."""
    changed = [
        each.model_copy(update={"diff": -0.5, "p_adjusted": p}) if each.metric == "bright" else each
        for each in run.comparisons
    ]
    manifest = run.manifest.model_copy(update={"comparisons": changed})
    table = make_paper_table([replace(run, manifest=manifest)], resolver, ["bright"])
    assert ("Bold: significantly" in table.caption) == any(cell.is_best for _, (cell,) in table.rows)
    return [name for name, (cell,) in table.rows if cell.is_best]


@pytest.mark.parametrize(("p", "bold"), [(0.01, ["light"]), (0.05, []), (None, [])])
def test_the_best_is_bold_only_if_it_is_surely_best(
    make_run: MakeRun, resolver: StaticResolver, p: float | None, bold: list[str]
) -> None:
    run = make_run(models={"dark": {"level": 60}, "light": {"level": 180}})
    assert [type(each) for each in run.comparisons] == [Comparison]
    assert find_bold(run, resolver, p) == bold


def test_runs_are_merged_by_model_and_compared_across_runs(make_run: MakeRun, resolver: StaticResolver) -> None:
    both = {"dark": {"level": 40}, "light": {"level": 180}}
    together = make_run("together", models=both, seeds=8)
    apart = [make_run(name, models={name: settings}, seeds=8) for name, settings in both.items()]
    table = make_paper_table(apart, resolver)
    assert table.rows == make_paper_table([together], resolver).rows
    assert table.rows == make_paper_table([together, *apart], resolver).rows
    (group,) = collect_groups(apart, resolver)
    (wanted,) = together.comparisons
    (found,) = group.comparisons
    assert (found.a, found.b, found.n) == (wanted.a, wanted.b, wanted.n)
    assert found.diff == pytest.approx(wanted.diff)
    assert found.p_adjusted == pytest.approx(wanted.p_adjusted)


THREE = {"dark": {"level": 40}, "middle": {"level": 110}, "light": {"level": 180}}


def test_pairs_of_one_run_keep_the_comparison_of_the_run(make_run: MakeRun, resolver: StaticResolver) -> None:
    two = make_run("two", models={name: THREE[name] for name in ("dark", "light")}, seeds=8)
    third = make_run("third", models={"middle": THREE["middle"]}, seeds=8)
    (said,) = two.comparisons
    other = said.model_copy(update={"diff": -0.75, "p_unadjusted": 0.001})
    altered = replace(two, manifest=two.manifest.model_copy(update={"comparisons": [other]}))
    (group,) = collect_groups([altered, third], resolver)
    assert len(group.comparisons) == 3
    (own,) = (each for each in group.comparisons if {each.a, each.b} == {"dark", "light"})
    assert (own.diff, own.p_unadjusted) == (-0.75, 0.001)
    assert own.p_adjusted is not None
    assert own.p_adjusted > 0.001  # adjusted for all pairs of the table, not for those of the run
    assert group.is_tested


def test_runs_that_test_at_looks_are_not_tested_across_runs(make_run: MakeRun, resolver: StaticResolver) -> None:
    runs = [make_run(name, models={name: settings}, seeds=8) for name, settings in THREE.items()]
    assert all(group.is_tested for group in collect_groups(runs, resolver))
    stopping = StoppingRecord(until="verdict", margin=0.1, plan=[PlannedLook(prompts=4, seeds=8)], looks=[])
    last = replace(runs[-1], manifest=runs[-1].manifest.model_copy(update={"stopping": stopping}))
    (group,) = collect_groups([*runs[:-1], last], resolver)
    assert [{each.a, each.b} for each in group.comparisons] == [{"dark", "middle"}]
    table = make_paper_table([*runs[:-1], last], resolver)
    assert "Differences between models are not tested." in table.caption
    assert "ignificantly" not in table.caption
    assert not any(cell.is_best for _, cells in table.rows for cell in cells)


def test_a_caption_says_that_facets_are_not_tested(shared_run: Run, resolver: StaticResolver) -> None:
    assert "significantly" in make_paper_table([shared_run], resolver).caption
    facets = make_paper_table([shared_run], resolver, ["bright.kind"])
    assert "Differences between models are not tested." in facets.caption
    assert "significantly" not in facets.caption
    both = make_paper_table([shared_run], resolver, ["bright", "bright.kind"])
    assert both.caption.endswith("Tested: bright.")


def test_a_note_says_which_columns_are_corrected_and_by_which_labels(
    shared_run: Run, resolver: StaticResolver
) -> None:
    fixed = [
        each.model_copy(
            update={
                "correction": Correction(
                    people="people:said.csv",
                    value=0.5,
                    ci=[0.25, 0.75],
                    labels=LabelScore(value=0.5, ci=None),
                    n_labels=9,
                    signature=f"{each.signature}|corrected:said.csv#12345678",
                )
            }
        )
        for each in shared_run.results
    ]
    run = replace(shared_run, manifest=shared_run.manifest.model_copy(update={"results": fixed}))
    whole = make_paper_table([run], resolver, ["bright"])
    (note,) = whole.notes
    assert [cells[0].value for _, cells in whole.rows] == ["0.500", "0.500"]
    assert "corrected by people's labels" in note.text
    assert "judge alone" not in note.text
    assert (note.signature or "").endswith("|corrected:said.csv#12345678")
    (note,) = make_paper_table([run], resolver, ["bright", "bright.shade"]).notes
    assert "corrected by people's labels; by the judge alone: bright: shade" in note.text
    (note,) = make_paper_table([run], resolver, ["bright.shade"]).notes
    assert "corrected by" not in note.text
    assert "by the judge alone: bright: shade" in note.text


def test_settings_of_a_sweep_are_rows(make_run: MakeRun, resolver: StaticResolver) -> None:
    settings = {f"paint level={level}": {"level": level} for level in (40, 90, 180)}
    run = make_run(models=settings)
    table = make_paper_table([run], resolver)
    assert [name for name, _ in table.rows] == list(settings)
    assert all(name in format_paper_table(table, "markdown") for name in settings)
    (group,) = collect_groups([run], resolver)
    assert {(each.a, each.b) for each in group.comparisons} == {(each.a, each.b) for each in run.comparisons}


def test_results_of_different_protocols_stand_in_different_columns(
    make_run: MakeRun, resolver: StaticResolver
) -> None:
    runs = [make_run("few", seeds=2), make_run("more", seeds=4)]
    table = make_paper_table(runs, resolver)
    assert table.head == ["model", "bright (1) ↑", "bright (2) ↑"]
    assert len(table.rows) == 2
    assert len({note.signature for note in table.notes}) == 2
    assert make_paper_table(runs, resolver, ["bright (2)"]).head == ["model", "bright (2) ↑"]


def test_differences_are_a_table_too(shared_run: Run, resolver: StaticResolver) -> None:
    found = compare(shared_run, shared_run, ("dark", "light"), resolver)
    table = make_difference_table(found)
    assert "dark − light" in table.caption
    assert [name for name, _ in table.rows] == ["bright ↑", "broken ↓"]
    wanted = found.differences().iloc[0]
    difference, p, n = table.rows[0][1]
    assert difference.value == format_decimals(wanted["diff"])
    assert difference.interval == f"[{format_decimals(wanted['low'])}, {format_decimals(wanted['high'])}]"
    assert (p.value, n.value) == (f"{wanted['p_unadjusted']:.3f}", str(wanted["n"]))
    assert table.notes[0].signature == shared_run.results[0].signature
    rows, _ = read_markdown(format_paper_table(table, "markdown"))
    assert len(rows) == 3
    assert re.search(r"strong\(\"bright\"\)", format_paper_table(table, "typst"))
