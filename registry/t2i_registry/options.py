"""Options of components: addressed by name, merged, read from text and checked by pydantic."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from t2i_core.api.errors import BadOption, did_you_mean, join_clauses

from .discovery import KINDS, normalize_name

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo
    from t2i_core.api.options import Options
    from t2i_core.api.plugin_info import Kind
    from t2i_core.api.resolver import OptionTable

Path = tuple[str, ...]


class Word(str):
    """A value as it was written on a command line, where an option's type alone says what is meant by it."""

    __slots__ = ()


@dataclass(frozen=True)
class Address:
    """Whose options a key of the option table means: `[kind:][dist/]name`."""

    name: str
    dist: str | None = None
    kind: Kind | None = None

    @classmethod
    def parse(cls, key: str) -> Address:
        """Read a key. A word before the colon that is no kind is a BadOption."""
        head, colon, rest = key.rpartition(":")
        kind = find_kind(head) if colon else None
        if colon and kind is None:
            raise BadOption(f"options of {key!r}: {head!r} is no kind; want one of {', '.join(KINDS)}")
        dist, slash, name = rest.rpartition("/")
        return cls(name, dist if slash else None, kind)

    def means(self, kind: Kind, name: str, dist: str) -> bool:
        """Whether a component is meant."""
        return (
            self.name == name
            and self.kind in (None, kind)
            and (self.dist is None or normalize_name(self.dist) == normalize_name(dist))
        )

    @property
    def precision(self) -> tuple[bool, bool]:
        """Which of two addresses counts more: one with a kind, then one with a distribution."""
        return self.kind is not None, self.dist is not None


@dataclass(frozen=True)
class OptionHelp:
    """What a user must know of one option.

    name:        dotted for an option of a nested model
    type:        as it is written in Python
    default:     as text; None where the option is required
    constraint:  bounds and patterns, in words
    table:       name of the optional table that it is a key of: as long as none of its keys is given there is none
    """

    name: str
    type: str
    default: str | None
    constraint: str
    description: str
    table: str | None = None


def find_kind(word: str) -> Kind | None:
    """Return the kind that a user writes as `judge`, `judges`, `prompt-source` or `prompt_sources`."""
    singular = word.strip().lower().replace("-", "_").removesuffix("s")
    return next((kind for kind in KINDS if kind == singular), None)


def split_assignment(text: str, names: Iterable[str]) -> tuple[str, Path, Word]:
    """Read `NAME.KEY=VALUE` into the table's key, the option's path and the value as text.

    NAME may be `kind:name` and `dist/name`, and may itself hold dots: the longest of the known names counts.
    """
    left, equals, value = text.partition("=")
    head, prefix, rest = re.match(r"((?:[^:=]*:)?(?:[^/=]*/)?)?", left), "", left.strip()
    if head:
        prefix, rest = head[0], left[head.end() :].strip()
    known = sorted((n for n in names if rest.startswith(f"{n}.")), key=len, reverse=True)
    name = known[0] if known else rest.partition(".")[0]
    path = tuple(rest[len(name) + 1 :].split("."))
    if not equals or not name or not all(path):
        raise BadOption(f"option {text!r}: want NAME.KEY=VALUE, for instance tiam.confidence=0.4")
    return f"{prefix.strip()}{name}", path, Word(value)


def merge_options(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Merge options, later ones over earlier ones; nested tables and dotted keys are merge_options key by key."""
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


def select_options(table: OptionTable, kind: Kind, name: str, dist: str) -> dict[str, Any]:
    """Return a component's options in a table; a more exact address overrides a less exact one."""
    meant = [(Address.parse(key), values) for key, values in table.items()]
    meant = [(address, values) for address, values in meant if address.means(kind, name, dist)]
    return merge_options(*(values for _, values in sorted(meant, key=lambda pair: pair[0].precision)))


def check_options(model: type[Options], values: Mapping[str, Any], whose: str) -> Options:
    """Make the options. Raises BadOption, all that is wrong in one line.

    A text that does not fit as it is is read again as YAML (`[1, 2]`, `{a: 1}`, `null`) and as a list separated
    by commas, so that every type can be written on a command line. Where anything fits, a word of the command line
    is read as YAML at once. A list is told what is wrong with its parts, and not that its text is none.
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
    found += [p for p in last.errors() if p["loc"][:1] in lists]
    raise BadOption(join_clauses(dict.fromkeys(_describe_problems(model, found, whose)))) from first


_NO_LIST = ("list_type", "tuple_type", "set_type", "frozen_set_type")
"""How pydantic calls it that a text is no list."""


def describe_options(model: type[BaseModel], prefix: str = "", table: str | None = None) -> Iterator[OptionHelp]:
    """Describe every option of a model, those of nested models under dotted names."""
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
            )
        if below is not None:
            yield from describe_options(below, f"{prefix}{name}.", prefix + name if optional else table)


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
    """Read the words of a value that stand where any value may."""
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
    """Read a text as YAML, or as JSON, which knows `1e-5`; return it unchanged if it is neither."""
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
    """Apply a reading to the texts that pydantic complains about."""
    places = [tuple(str(part) for part in problem["loc"]) for problem in error.errors(include_url=False)]

    def walk(value: Any, path: Path) -> Any:
        if isinstance(value, Mapping):
            return {key: walk(below, (*path, str(key))) for key, below in value.items()}
        if isinstance(value, str) and any(_leads_to(path, place) for place in places):
            return read(value)
        return value

    return walk(values, ())


def _leads_to(path: Path, place: Path) -> bool:
    """Whether a place that pydantic names lies at or below a path; it adds a union's members in between."""
    steps = iter(place)
    return all(part in steps for part in path)


def _describe_problems(model: type[BaseModel], problems: Iterable[Any], whose: str) -> Iterator[str]:
    known = [option.name for option in describe_options(model)]
    for problem in problems:
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            hint = did_you_mean(name, known) or (f"; it has {', '.join(known)}" if known else "; it has none")
            yield f"unknown option {name!r} of {whose}{hint}"
        elif problem["type"] == "missing":
            yield f"option {name!r} of {whose} is required"
        else:
            message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
            message = message[:1].lower() + message[1:]
            where = f"option {name!r} of {whose}" if name else f"options of {whose}"
            given = "the value" if _is_secret(model, problem["loc"]) else repr(problem["input"])
            yield f"{where}: {given} is not valid: {' '.join(message.split())}"


def _is_secret(model: type[BaseModel], place: tuple[Any, ...]) -> bool:
    """Whether the option that an error names is one that is not to be shown (`SecretStr`)."""
    field = model.model_fields.get(str(place[0])) if place else None
    if field is None:
        return False
    below, _ = _find_nested(field.annotation)
    return _is_secret(below, place[1:]) if below is not None else "Secret" in _format_type(field.annotation)


def _format_type(annotation: Any) -> str:
    """Return a type as text, without the modules of its parts; values in quotes stay."""
    annotation = _strip_annotations(annotation)
    text = annotation.__name__ if isinstance(annotation, type) and not _is_generic(annotation) else str(annotation)
    return re.sub(r"('[^']*')|\b(?:[^\W\d]\w*\.)+", lambda found: found[1] or "", text)


def _strip_annotations(annotation: Any) -> Any:
    """Return a type without the annotations of its parts."""
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
