"""Options of components: addressing, merging, parsing from text, and validation by pydantic."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from t2i_core.api.errors import BadOption, MissingOption, did_you_mean, join_clauses
from t2i_core.api.fault_words import describe_fault, takes_value
from t2i_core.engine.request_values import list_values

from .discovery import KINDS, normalize_name

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo
    from t2i_core.api.options import Options
    from t2i_core.api.plugin_info import Kind
    from t2i_core.api.resolver import OptionTable

Path = tuple[str, ...]


class Word(str):
    """A value as written on a command line; the option's type decides how it is parsed."""

    __slots__ = ()


class RepeatedWord(Word):
    """The last of several values of one option on a command line; an option that takes a list gets all of them.

    Attributes:
        every: All values in their order.
    """

    __slots__ = ("every",)
    every: tuple[str, ...]

    def __new__(cls, *values: str) -> RepeatedWord:
        """Return the last value, with all of them."""
        word = super().__new__(cls, values[-1])
        word.every = values
        return word


@dataclass(frozen=True)
class Address:
    """The component that a key of the option table means: `[kind:][dist/]name`."""

    name: str
    dist: str | None = None
    kind: Kind | None = None

    @classmethod
    def parse(cls, key: str) -> Address:
        """Parse a key. Raises BadOption if the word before the colon is not a kind."""
        head, colon, rest = key.rpartition(":")
        kind = find_kind(head) if colon else None
        if colon and kind is None:
            raise BadOption(f"options of {key!r}: {head!r} is not a kind; choose one of {', '.join(KINDS)}")
        dist, slash, name = rest.rpartition("/")
        return cls(name, dist if slash else None, kind)

    def means(self, kind: Kind, name: str, dist: str) -> bool:
        """Return whether the address means a component."""
        return (
            self.name == name
            and self.kind in (None, kind)
            and (self.dist is None or normalize_name(self.dist) == normalize_name(dist))
        )

    @property
    def precision(self) -> tuple[bool, bool]:
        """Sort key: an address with a kind overrides one without, then one with a distribution one without."""
        return self.kind is not None, self.dist is not None


@dataclass(frozen=True)
class OptionHelp:
    """The description of one option for users.

    Attributes:
        name: Name; dotted for an option of a nested model.
        type: Type, as written in Python.
        default: Default as text; None if the option is required.
        constraint: Bounds and patterns as text.
        description: Description of the field.
        table: Name of the optional table that the option belongs to; unset if none of its keys is given.
        other_names: Names by which users know it from elsewhere, dotted as its own.
    """

    name: str
    type: str
    default: str | None
    constraint: str
    description: str
    table: str | None = None
    other_names: tuple[str, ...] = ()


def find_kind(word: str) -> Kind | None:
    """Return the kind that a word names (`judge`, `judges`, `prompt-source`, `prompt_sources`), or None."""
    singular = word.strip().lower().replace("-", "_").removesuffix("s")
    return next((kind for kind in KINDS if kind == singular), None)


def split_assignment(text: str, names: Iterable[str]) -> tuple[str, Path, Word]:
    """Split `NAME.KEY=VALUE` into the key of the option table, the path of the option and the value.

    Args:
        text: The assignment. NAME may be `kind:name` or `dist/name`.
        names: Known component names. A name may contain dots; the longest known name that fits is taken, if
            need be one in another case.

    Raises:
        BadOption: The text is not an assignment.
    """
    left, equals, value = text.partition("=")
    head, prefix, rest = re.match(r"((?:[^:=]*:)?(?:[^/=]*/)?)?", left), "", left.strip()
    if head:
        prefix, rest = head[0], left[head.end() :].strip()
    known = sorted((n for n in names if rest.casefold().startswith(f"{n}.".casefold())), key=len, reverse=True)
    exact = [n for n in known if rest.startswith(f"{n}.")]
    alike = [n for n in known if len(n) == len(known[0])]
    name = exact[0] if exact else alike[0] if len(alike) == 1 else rest.partition(".")[0]
    path = tuple(rest[len(name) + 1 :].split("."))
    if not equals or not name or not all(path):
        raise BadOption(f"option {text!r} must be NAME.KEY=VALUE, for example tiam.confidence=0.4")
    return f"{prefix.strip()}{name}", path, Word(value)


def merge_options(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Merge option tables; later values override earlier ones, nested tables and dotted keys merge by key."""
    result: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            first, _, rest = str(key).partition(".")
            if rest:
                value = {rest: value}
            if isinstance(value, Mapping):
                below = result.get(first)
                result[first] = merge_options(below if isinstance(below, Mapping) else {}, value)
            else:
                result[first] = value
    return result


def override(values: Mapping[str, Any], given: Mapping[str, Any], added: Collection[str] = ()) -> dict[str, Any]:
    """Return values of the request's fields with those of the user on top; component options merge one by one.

    Args:
        values: The values, such as those of a recipe.
        given: The user's values; None and empty lists change nothing.
        added: Fields whose values are the given ones after those of `values`.

    Raises:
        BadOption: If the user's options are not tables.
    """
    result = dict(values)
    for name, value in given.items():
        if value is None or (isinstance(value, list | tuple) and not value):
            continue
        if name in added:
            value = [*values.get(name, ()), *list_values(value)]
        elif name == "options":
            if not isinstance(value, Mapping) or not all(isinstance(table, Mapping) for table in value.values()):
                raise BadOption(f"options must be a table of tables, one for each component (got {value!r})")
            below = values.get(name, {})
            value = {**below, **{key: merge_options(below.get(key, {}), table) for key, table in value.items()}}
        result[name] = value
    return result


def repeat_word(table: Mapping[str, Any], path: Path, value: Word) -> Word:
    """Return the value of an option that a command line may have given before, at the same path of a table."""
    before: Any = table
    for key in path:
        before = before.get(key) if isinstance(before, Mapping) else None
    if not isinstance(before, Word):
        return value
    return RepeatedWord(*(before.every if isinstance(before, RepeatedWord) else (before,)), value)


def select_options(table: OptionTable, kind: Kind, name: str, dist: str) -> dict[str, Any]:
    """Return a component's options from a table; a more specific address overrides a less specific one."""
    meant = [(Address.parse(key), values) for key, values in table.items()]
    meant = [(address, values) for address, values in meant if address.means(kind, name, dist)]
    return merge_options(*(values for _, values in sorted(meant, key=lambda pair: pair[0].precision)))


def check_options(model: type[Options], values: Mapping[str, Any], whose: str) -> Options:
    """Return validated options.

    A text that is not valid as it stands is parsed as YAML (`[1, 2]`, `{a: 1}`, `null`) and then as a list
    separated by commas, so that every type can be written on a command line. If an option accepts any value, text
    of the command line is parsed as YAML at once. For a list, the message reports the invalid items.

    Args:
        model: Options class of the component.
        values: Values by name; nested options are mappings.
        whose: Kind and name of the component, for messages: `metric 'fid'`.

    Raises:
        BadOption: Some values are not valid; the message lists all problems in one line.
        MissingOption: The only problem is that required options are not given.
    """
    from pydantic import ValidationError

    values = {name: _read_words(_find_type(model, name), value) for name, value in values.items()}
    first: ValidationError | None = None
    for read in (None, _read_yaml, _split_list):
        if first is not None and read is not None:
            values = _read_again(values, first, read)
        try:
            return model.model_validate(dict(values))
        except ValidationError as error:
            first, last = first or error, error
    assert first is not None
    lists = {p["loc"][:1] for p in first.errors() if p["type"] in _NO_LIST}
    found = [p for p in first.errors() if p["loc"][:1] not in lists]
    # once every list is read, the options may still not fit each other: a problem without a place
    found += [p for p in last.errors() if lists and (not p["loc"] or p["loc"][:1] in lists)]
    kind = MissingOption if all(problem["type"] == "missing" for problem in found) else BadOption
    raise kind(join_clauses(dict.fromkeys(_describe_problems(model, found, whose)))) from first


_NO_LIST = ("list_type", "tuple_type", "set_type", "frozen_set_type")
"""Pydantic's error types for a text where a list is required."""


def describe_options(model: type[BaseModel], prefix: str = "", table: str | None = None) -> Iterator[OptionHelp]:
    """Yield the description of every option of a model; options of nested models have dotted names."""
    for name, field in model.model_fields.items():
        below, optional = _find_nested(field.annotation)
        if below is None or optional:
            yield OptionHelp(
                name=prefix + name,
                type=_format_type(field.annotation),
                default=None if field.is_required() else repr(field.get_default(call_default_factory=True)),
                constraint=", ".join(_describe_constraints(field)),
                description=" ".join((field.description or "").split()),
                table=table,
                other_names=tuple(f"{prefix}{other}" for other in _list_other_names(field)),
            )
        if below is not None:
            yield from describe_options(below, f"{prefix}{name}.", prefix + name if optional else table)


def _list_other_names(field: FieldInfo) -> Iterator[str]:
    from t2i_core.api.options import OtherNames

    for item in field.metadata:
        if isinstance(item, OtherNames):
            yield from item.names


def _find_nested(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """Return the nested model of an option, if it has one, and whether it is optional."""
    from pydantic import BaseModel

    members = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    models = [m for m in members if isinstance(m, type) and issubclass(m, BaseModel)]
    if len(models) == 1 and set(members) <= {models[0], NoneType}:
        return models[0], len(members) > 1
    return None, False


def _read_yaml(text: str) -> Any:
    from t2i_core.io.yaml_file import BadYAML, load_yaml

    try:
        value = load_yaml(text)
    except BadYAML:
        return text
    return None if text.strip().lower() == "none" else value


def _find_type(model: type[BaseModel], name: str) -> Any:
    field = model.model_fields.get(name)
    return field.annotation if field else None


def _read_words(annotation: Any, value: Any) -> Any:
    """Return a value with the command line's texts parsed wherever an option accepts any value."""
    is_list = isinstance(value, RepeatedWord) and get_origin(annotation) in (tuple, list)
    if is_list and not value.startswith("["):  # a whole list takes the place of the values before it
        return list(value.every)
    if annotation is Any and isinstance(value, Word):
        return _read_plain_data(value)
    if not isinstance(value, Mapping):
        return value
    model, _ = _find_nested(annotation)
    if model is not None:
        return {key: _read_words(_find_type(model, key), below) for key, below in value.items()}
    entry = get_args(annotation)[1] if get_origin(annotation) is dict else annotation
    return {key: _read_words(entry, below) for key, below in value.items()}


def _read_plain_data(text: str) -> Any:
    """Parse a text as YAML, or as JSON (for `1e-5`); return it unchanged if it is neither."""
    import json

    value = _read_yaml(text) if text else ""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return json.loads(value, parse_constant=str)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        value = text
    return str(value) if isinstance(value, str) else value


def _split_list(text: str) -> Any:
    return [part.strip() for part in text.split(",") if part.strip()]


def _read_again(values: Any, error: Any, read: Callable[[str], Any]) -> Any:
    """Apply a parser to the texts that pydantic rejects."""
    places = [tuple(str(part) for part in problem["loc"]) for problem in error.errors(include_url=False)]

    def walk(value: Any, path: Path) -> Any:
        if isinstance(value, Mapping):
            return {key: walk(below, (*path, str(key))) for key, below in value.items()}
        if isinstance(value, str) and any(_leads_to(path, place) for place in places):
            return read(value)
        return value

    return walk(values, ())


def _leads_to(path: Path, place: Path) -> bool:
    """Return whether an error location of pydantic, which includes members of unions, lies at or below a path."""
    steps = iter(place)
    return all(part in steps for part in path)


def _find_near_options(model: type[BaseModel], name: str) -> str:
    """Return a hint at the options that a name may mean: by their other names, or else by spelling."""
    listed = list(describe_options(model))
    meant = [option.name for option in listed if name in option.other_names]
    # one below an optional table is suggested only for a name that is below one too
    known = [option.name for option in listed if option.table is None or "." in name]
    return f": did you mean {' or '.join(map(repr, meant))}?" if meant else did_you_mean(name, known)


def _describe_problems(model: type[BaseModel], problems: Iterable[Any], whose: str) -> Iterator[str]:
    problems = list(problems)
    names = [".".join(str(part) for part in problem["loc"]) for problem in problems]
    first = list(model.model_fields)
    for name, problem in zip(names, problems, strict=True):
        if problem["type"] == "extra_forbidden":
            hint = _find_near_options(model, name)
            if not hint:  # once, if several names are like no option
                hint = f"; choose {', '.join(first)}" if first else "; it has no options"
                first = first and ["one of these"]
            yield f"unknown option {name!r} of {whose}{hint}"
        elif problem["type"] == "missing":
            about = model.model_fields[name].description if name in model.model_fields else None
            address = whose.partition("'")[2].rstrip("'")
            way = f"; set it with -o {address}.{name}=VALUE" if address else ""
            yield f"option {name!r} of {whose} is required{way}{f' ({about})' if about else ''}"
        else:
            where = f"option {name!r} of {whose}" if name else f"options of {whose}"
            given = "the value" if _is_secret(model, problem["loc"]) else repr(problem["input"])
            if takes_value(problem):
                yield f"{where} {describe_fault(problem)} (got {given})"
            else:
                message = describe_fault(problem)
                yield f"{where}: {given} is not valid: {message[:1].lower()}{message[1:]}"


def _is_secret(model: type[BaseModel], place: tuple[Any, ...]) -> bool:
    """Return whether the option at a place is secret (`SecretStr`) and must not be shown."""
    field = model.model_fields.get(str(place[0])) if place else None
    if field is None:
        return False
    below, _ = _find_nested(field.annotation)
    return _is_secret(below, place[1:]) if below is not None else "Secret" in _format_type(field.annotation)


def _format_type(annotation: Any) -> str:
    """Return a type as text without module names; quoted values stay unchanged."""
    annotation = _strip_annotations(annotation)
    text = annotation.__name__ if isinstance(annotation, type) and not _is_generic(annotation) else str(annotation)
    return re.sub(r"('[^']*')|\b(?:[^\W\d]\w*\.)+", lambda found: found[1] or "", text)


def _strip_annotations(annotation: Any) -> Any:
    """Return a type without `Annotated` metadata, also inside tuples, lists and dicts."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _strip_annotations(parts[0])
    return origin[tuple(map(_strip_annotations, parts))] if origin in (tuple, list, dict) else annotation


def _is_generic(annotation: Any) -> bool:
    return bool(getattr(annotation, "__args__", ()))


def _describe_constraints(field: FieldInfo) -> Iterator[str]:
    words = {
        "gt": ">",
        "ge": ">=",
        "lt": "<",
        "le": "<=",
        "multiple_of": "a multiple of",
        "min_length": "length >=",
        "max_length": "length <=",
        "pattern": "pattern",
    }
    for item in field.metadata:
        for attribute, word in words.items():
            bound = getattr(item, attribute, None)
            if bound is not None:
                yield f"{word} {bound}"
