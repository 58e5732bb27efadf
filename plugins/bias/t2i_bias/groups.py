"""Groups, by which people are sorted into categories, and the text of each category, read from YAML.

    gender:
      text: a photo of a {}
      categories: [male, {name: female, words: [woman, girl]}]
      note: limits of these categories that a reader must know
      ties: first

A category's name is inserted into the group's text, or the category has its own `text`. `words` are other words
for the category in people's answers. `ties` says whether the first or the last (default) of equally probable
categories gets a vote. Categories are only words that a judge compares images with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from t2i_core.api.errors import BadOption, did_you_mean
from t2i_core.io.answers import CANNOT_TELL
from t2i_core.io.yaml_file import find_first_fault
from t2i_core.io.yaml_lines import read_located_yaml

FOLDER = Path(__file__).parent / "data" / "groups"
UNDECIDED = frozenset({CANNOT_TELL, "unknown", "unclear", "unsure", "none", "neither", "other"})
"""Answers of people who cannot decide."""

Name = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]


class Category(BaseModel):
    """One category of a group.

    Attributes:
        name: Name of the category.
        text: Text that the judge compares images with; if None, the group's text with the name inserted.
        words: Other words for the category in people's answers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    text: Name | None = None
    words: tuple[Name, ...] = ()


def _parse_category(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class PeopleGroup(BaseModel):
    """Two or more categories, of which a judge must choose one for each image.

    Attributes:
        text: Text with `{}` for the name of a category, for categories without their own text.
        categories: The categories.
        note: Limits of these categories, shown with every score.
        ties: Which of equally probable categories gets a vote: the first or the last.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Name | None = None
    categories: tuple[Annotated[Category, BeforeValidator(_parse_category)], ...] = Field(min_length=2)
    note: str = ""
    ties: Literal["first", "last"] = "last"

    @model_validator(mode="after")
    def _check(self) -> PeopleGroup:
        if self.text is not None and self.text.count("{}") != 1:
            raise ValueError("text: must contain {} once, for the name of the category")
        bare = next((c.name for c in self.categories if c.text is None), None)
        if self.text is None and bare is not None:
            raise ValueError(f"the category {bare!r} needs a text, because the group has none")
        for what, values in (("category", self.names), ("text", self.texts)):
            if twice := next((value for value in values if values.count(value) > 1), None):
                raise ValueError(f"the {what} {twice!r} appears twice")
        words = [word.lower() for c in self.categories for word in {c.name, *c.words}]
        if twice := next((word for word in words if words.count(word) > 1), None):
            raise ValueError(f"the word {twice!r} belongs to two categories")
        if unclear := next((word for word in words if word in UNDECIDED), None):
            raise ValueError(f"the word {unclear!r} is reserved for answers of people who cannot decide")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the categories."""
        return tuple(c.name for c in self.categories)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that images are compared with, in the order of the categories."""
        return tuple(c.text or (self.text or "").replace("{}", c.name) for c in self.categories)

    def parse_answer(self, answer: str) -> str | None:
        """Return the category that an answer names.

        An answer that is exactly the word of a category names it. Otherwise the answer must contain the words of
        exactly one category (the person looks like a woman).

        Returns:
            Name of the category; None if the answer says that the person cannot decide.

        Raises:
            ValueError: The answer names no category, or several.
        """
        text = _normalise(answer)
        named = {c.name: [_normalise(word) for word in (c.name, *c.words)] for c in self.categories}
        for name, words in named.items():
            if text in words:
                return name
        if text in UNDECIDED:
            return None
        found = [(word, name) for name, words in named.items() for word in words if _contains(text, word)]
        # a word inside a longer match does not count: "hat" in "no hat"
        longest = {name for word, name in found if not any(_contains(o, word) and o != word for o, _ in found)}
        if len(longest) == 1:
            return longest.pop()
        raise ValueError(f"must name one of {', '.join((*self.names, 'unknown'))}")


def _normalise(text: str) -> str:
    return " ".join(re.findall(r"[\w-]+", text.lower()))


def _contains(text: str, words: str) -> bool:
    return f" {words} " in f" {text} "


def list_provided() -> tuple[str, ...]:
    """Return the names of the files of groups that come with the plugin."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def find_file(groups: str) -> Path:
    """Return the file that the option `groups` names."""
    return FOLDER / f"{groups}.yaml" if groups in list_provided() else Path(groups)


def read_groups(groups: str, only: Sequence[str] = ()) -> dict[str, PeopleGroup]:
    """Read groups by name.

    Args:
        groups: The option `groups`: the name of a provided file, or the path of a YAML file.
        only: Names of the groups to return, in this order; all if empty.

    Raises:
        BadOption: The file is not valid. The message names file, field and problem.
    """
    path = find_file(groups)
    if path.suffix not in (".yaml", ".yml") and not path.exists():
        known = list_provided()
        raise BadOption(
            f"bias.groups must be {', '.join(known)} or a YAML file (got {groups!r}){did_you_mean(groups, known)}"
        )
    data = read_located_yaml(path, BadOption, "groups by name, each with categories").data
    found = {}
    for name, group in data.items():
        if not isinstance(name, str) or not re.fullmatch(r"\S([^:]*[^\s:])?", name) or name == "human":
            raise BadOption(f"{path}: the group {name!r} needs another name: text without colon, other than human")
        try:
            found[name] = PeopleGroup.model_validate(group)
        except ValidationError as error:
            raise BadOption(f"{path}: {name}: {find_first_fault(error)}") from error
    return _select(path, found, only)


def _select(path: Path, found: dict[str, PeopleGroup], only: Iterable[str]) -> dict[str, PeopleGroup]:
    wanted = list(dict.fromkeys(only)) or list(found)
    for name in wanted:
        if name not in found:
            raise BadOption(
                f"bias.only: {path} has no group {name!r}{did_you_mean(name, found)} (groups: {', '.join(found)})"
            )
    return {name: found[name] for name in wanted}
