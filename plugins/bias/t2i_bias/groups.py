"""Groups: what people are sorted by, and the text for each category, read from YAML.

    gender:
      text: a photo of a {}
      categories: [male, {name: female, words: [woman, girl]}]
      note: what a reader must know of these categories

A category is a name, put into the group's text, or has a text of its own (`text`). `words` are what people's
answers may say for it. Categories are data, and no more than words that a judge compares pictures with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from t2i_core.api.errors import BadOption, did_you_mean
from t2i_core.io.yaml_file import find_first_fault, read_mapping

FOLDER = Path(__file__).parent / "data" / "groups"
UNDECIDED = frozenset({"unknown", "unclear", "unsure", "none", "neither", "other"})
"""What people may answer where they cannot say."""

Name = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]


class Category(BaseModel):
    """One of a group's categories.

    text:   what the judge compares images with; None: the group's text with the name in it
    words:  what people's answers may call it beside its name
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    text: Name | None = None
    words: tuple[Name, ...] = ()


def _category(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class PeopleGroup(BaseModel):
    """What people are sorted by: two categories or more, of which a judge must take one.

    text:  with `{}` for a category's name, where categories have no text of their own
    note:  limits of these categories, shown with every score
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Name | None = None
    categories: tuple[Annotated[Category, BeforeValidator(_category)], ...] = Field(min_length=2)
    note: str = ""

    @model_validator(mode="after")
    def _sound(self) -> PeopleGroup:
        if self.text is not None and self.text.count("{}") != 1:
            raise ValueError("text: want {} once, for the category's name")
        bare = next((c.name for c in self.categories if c.text is None), None)
        if self.text is None and bare is not None:
            raise ValueError(f"{bare!r} has no text, and neither has the group")
        for what, said in (("category", self.names), ("text", self.texts)):
            if twice := next((one for one in said if said.count(one) > 1), None):
                raise ValueError(f"the {what} {twice!r} is there twice")
        words = [word.lower() for c in self.categories for word in {c.name, *c.words}]
        if twice := next((word for word in words if words.count(word) > 1), None):
            raise ValueError(f"the word {twice!r} is said of two categories")
        if unclear := next((word for word in words if word in UNDECIDED), None):
            raise ValueError(f"the word {unclear!r} is what people answer who cannot say")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The categories' names."""
        return tuple(c.name for c in self.categories)

    @property
    def texts(self) -> tuple[str, ...]:
        """What images are compared with, in the categories' order."""
        return tuple(c.text or (self.text or "").replace("{}", c.name) for c in self.categories)

    def meant(self, answer: str) -> str | None:
        """The category that an answer names; None where it says that it cannot say.

        A whole answer counts first, else the only category that is named in it (the person looks like a woman).
        Raises ValueError where it names none or several.
        """
        said = " ".join(_words(answer))
        named = {c.name: [" ".join(_words(word)) for word in (c.name, *c.words)] for c in self.categories}
        for name, words in named.items():
            if said in words:
                return name
        if said in UNDECIDED:
            return None
        found = [(word, name) for name, words in named.items() for word in words if _holds(said, word)]
        # what is part of a longer name that stands there says nothing of its own: the hat of no hat
        longest = {name for word, name in found if not any(_holds(o, word) and o != word for o, _ in found)}
        if len(longest) == 1:
            return longest.pop()
        raise ValueError(f"want one of {', '.join((*self.names, 'unknown'))}")


def _words(text: str) -> list[str]:
    return re.findall(r"[\w-]+", text.lower())


def _holds(text: str, words: str) -> bool:
    return f" {words} " in f" {text} "


def provided() -> tuple[str, ...]:
    """The names of the groups that come with the plugin."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def file_of(groups: str) -> Path:
    """The file that the option `groups` means."""
    return FOLDER / f"{groups}.yaml" if groups in provided() else Path(groups)


def read_groups(groups: str, only: Sequence[str] = ()) -> dict[str, PeopleGroup]:
    """Read groups by name; those in `only`, in its order, where it names any.

    Raises BadOption, in one line with file, field and fault.
    """
    path = file_of(groups)
    if path.suffix not in (".yaml", ".yml") and not path.exists():
        known = ", ".join(provided())
        raise BadOption(f"bias.groups={groups}{did_you_mean(groups, provided())} (want {known}, or a YAML file)")
    data = read_mapping(path, BadOption, "groups by name, each with categories")
    found = {}
    for name, group in data.items():
        if not isinstance(name, str) or not re.fullmatch(r"\S([^:]*[^\s:])?", name) or name == "human":
            raise BadOption(f"{path}: the group {name!r}: want a name without colon, other than human")
        try:
            found[name] = PeopleGroup.model_validate(group)
        except ValidationError as error:
            raise BadOption(f"{path}: {name}: {find_first_fault(error)}") from error
    return _chosen(path, found, only)


def _chosen(path: Path, found: dict[str, PeopleGroup], only: Iterable[str]) -> dict[str, PeopleGroup]:
    wanted = list(dict.fromkeys(only)) or list(found)
    for name in wanted:
        if name not in found:
            raise BadOption(f"bias.only: {path} has no {name!r}{did_you_mean(name, found)} ({', '.join(found)})")
    return {name: found[name] for name in wanted}
