"""The form that the options of `t2i people serve` ask for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from t2i_core.api.errors import BadOption

from .forms import StudyForm, compare_models, find_controls
from .groups import read_groups
from .questions import perception
from .study_file import read_form, read_study


def choose_form(
    form: str | None = None,
    study: Path | None = None,
    people: str | None = None,
    question: str | None = None,
    grid: int | None = None,
    known: Path | None = None,
    instructions: Path | None = None,
) -> StudyForm:
    """Return the form.

    Args:
        form: Name of a study that comes with the package.
        study: A study file.
        people: `paper`, or a file of groups of people.
        question: Text of the question, in place of the form's own.
        grid: Number of images on each side, in place of the form's own.
        known: File of tasks with a known answer.
        instructions: Markdown file with instructions.

    Raises:
        BadOption: If two options contradict each other, or a file is not valid.
        UnknownName: If there is no such form.
    """
    named = {"--form": form, "--study": study, "--people": people}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise BadOption(f"{' and '.join(given)} cannot be combined; name one of them")
    if study is not None:
        found = read_study(study)
    elif people is not None:
        found = show_people(read_groups(people))
    elif form is not None and form != "pair":
        found = read_form(form)
    else:
        found = compare_models(grid=grid or 1)
    if question is not None:
        if len(found.questions) > 1:
            raise BadOption("--question: this study has several questions; change their texts in its study file")
        found = replace(found, questions=(replace(found.questions[0], text=question),))
    if grid is not None and grid != found.grid:
        found = replace(found, grid=grid)
    if question is not None or grid is not None:
        found = replace(
            found, controls=find_controls(found.sides, found.grid, found.questions, found.shows_prompt)
        )
    return replace(found, known=known or found.known, instructions=instructions or found.instructions)


def show_people(groups: dict[str, tuple[str, ...]], grid: int = 9) -> StudyForm:
    """Return the form that asks which groups of people a model's images show."""
    return StudyForm(perception(groups), 1, grid)
