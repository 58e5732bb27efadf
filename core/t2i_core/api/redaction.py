"""Redaction of this process's secrets (API keys, tokens, passwords) from everything that t2i stores or prints.

`redact` replaces every known secret in a text by `***`. Core calls it where text of plugins and libraries enters
(failure reasons, errors, records, settings, answers) and where a run is written; the command line calls it for
everything that it prints. Plugin authors need not call it.

Secrets come from three sources:

- environment variables with telling names (`OPENAI_API_KEY`, `HF_TOKEN`, `DB_PASSWORD`);
- environment variables that an option names (`api_key_env`; `..._key_env`, `..._token_env`, `..._secret_env` or
  `..._password_env`);
- options of type `SecretStr`.

A value of fewer than 8 characters, or of fewer than 20 that consists of words or digits (`EMPTY`, `lm-studio`), is
not replaced, because ordinary text may contain it. Passwords in URLs and authorization headers are always
replaced.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import IO, Any

MARK = "***"
"""The text that replaces a secret."""

SHORTEST = 8
"""Length of the shortest secret that is replaced."""

_SURELY_RANDOM = 20
"""From this length on, a value is replaced even if it consists of words."""

_FRAGMENT = 12
"""Length of the shortest part of a secret that is replaced; libraries shorten long values in messages."""

_SECRET_VARIABLE = re.compile(
    r"(?:^|_)(?:api_?key|(?:access|admin|private|secret)_key|secret|token|password|passwd|passphrase)$",
    re.IGNORECASE,
)
_VARIABLE_OPTION = re.compile(r"(?:key|token|secret|password)_env$")
_SECRET_FIELD = re.compile(
    r"(?:proxy-)?authorization|(?:x-)?api[-_]?key|password|passwd|secret|client[-_]secret|cookie|set-cookie"
    r"|(?:access|auth|bearer|hf)[-_]token",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z]+(?:[-_. ][A-Za-z]+)*|[\d.]+")
_URL_PASSWORD = re.compile(r"""(\b[A-Za-z][A-Za-z\d+.-]{0,20}://)[^\s/@:'"]{0,256}:[^\s/@'"]{1,1024}@""")
_HEADER = re.compile(
    r"""((?:authorization|\bapi[-_]?key)(?:["']?\s*[:=]\s*(?:b?["'])?|',\s*b?')(?:(?:bearer|basic|digest|token)\s+)?)"""
    r"""[^\s"',;&})\]]+""",
    re.IGNORECASE,
)
_HEADER_WORDS = ("authorization", "apikey", "api-key", "api_key", "bearer ", "basic ")
_BEARER = re.compile(r"(\b(?:Bearer|Basic)\s+)(?=[^\s\d]*\d)[\w.~+/=-]{16,}")
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")

_AT_ONCE = 1 << 16
"""Characters that `RedactingFile` searches at once."""

_PRINTED_FIELDS = ("strerror", "filename", "filename2", "msg", "text", "reason")
"""Fields from which Python's own errors make their messages."""

_named_variables: set[str] = set()
_option_values: set[str] = set()


def redact(text: str) -> str:
    """Return a text with `***` in place of every secret of this process.

    Secrets are found as they are and in the forms in which messages, files and requests hold them: without
    surrounding blanks, as `repr` and JSON write them, URL-encoded, in base64 (also within `user:key`), in
    hexadecimal, and cut to their beginning or end.
    """
    return _redact(text, _find_forms)


def redact_data(data: Any) -> Any:
    """Return plain data with `redact` applied to all its texts, keys included; a tuple becomes a list.

    If a field has the name of a secret (`Authorization`, `api_key`, `password`), its value is always replaced.
    """
    return _redact_data(data, cache(_find_forms))  # one search of the environment for thousands of texts


def redact_error(error: BaseException) -> None:
    """Redact in place the messages of an error and of its causes, all of which Python prints."""
    errors: list[BaseException | None] = [error]
    seen: set[int] = set()
    while errors:
        each = errors.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        own = vars(each)
        own.update({name: redact(value) for name, value in own.items() if isinstance(value, str)})
        if notes := own.get("__notes__"):
            own["__notes__"] = [_text(note) for note in notes]
        # OSError and some others print their own fields, which `args` does not include
        for name in _PRINTED_FIELDS:
            if isinstance(value := getattr(each, name, None), str) and (clean := redact(value)) != value:
                with suppress(AttributeError):  # a property; its source is among the attributes above
                    setattr(each, name, clean)
        # an error's class may redefine `args`
        BaseException.args.__set__(each, tuple(map(_text, each.args)))  # type: ignore[attr-defined]
        errors += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            errors += each.exceptions


class RedactingFile(io.TextIOBase):
    """A text file to write to, which replaces known secrets. Each text must hold a secret as a whole."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._waiting: list[str] = []
        self._size = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str) -> int:
        """Write a text, now or together with later ones: many lines are searched at once."""
        self._waiting.append(text)
        self._size += len(text)
        if self._size > _AT_ONCE:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Write all texts given so far."""
        if self._waiting:
            self._file.write(_redact_known("".join(self._waiting), _find_forms()))
            self._waiting, self._size = [], 0


def learn_secrets(options: Any) -> None:
    """Remember the secrets that a component's options (a pydantic model) hold or name."""
    for name, value in options:
        if isinstance(value, str):
            if _VARIABLE_OPTION.search(name):
                _named_variables.add(value)
        elif hasattr(value, "get_secret_value"):
            secret = value.get_secret_value()
            _option_values.add(secret if isinstance(secret, str) else str(secret, "utf-8", "surrogateescape"))
        elif hasattr(type(value), "model_fields"):
            learn_secrets(value)


@dataclass(frozen=True)
class _Form:
    """One way to write a secret.

    Attributes:
        text: The secret in this form.
        encoded: True for base64, whose neighbouring characters hold bits of the secret too.
    """

    text: str
    encoded: bool = False

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the places of the secret in a text, whole or cut."""
        can_be_cut = len(self.text) >= _FRAGMENT + 4
        found = chain(self._beginnings(text), self._ends(text)) if can_be_cut else self._whole(text)
        for start, end in found:
            if self.encoded:
                start, end = _widened(text, start, end)
            yield start, end

    def _whole(self, text: str) -> Iterator[tuple[int, int]]:
        size = len(self.text)
        start = text.find(self.text)
        while start >= 0:
            end = start + size
            # a short one within a longer word is a coincidence
            inside = text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()
            if self.encoded or size >= _SURELY_RANDOM or not inside:
                yield start, end
            start = text.find(self.text, start + 1)

    def _beginnings(self, text: str) -> Iterator[tuple[int, int]]:
        start = text.find(self.text[:_FRAGMENT])
        while start >= 0:
            end = start + _common(self.text, text[start : start + len(self.text)])
            yield start, end
            start = text.find(self.text[:_FRAGMENT], end)

    def _ends(self, text: str) -> Iterator[tuple[int, int]]:
        tail = self.text[-_FRAGMENT:]
        start = text.find(tail)
        while start >= 0:
            end = start + _FRAGMENT
            before = text[max(0, end - len(self.text)) : end]
            yield end - _common(self.text[::-1], before[::-1]), end
            start = text.find(tail, end)


def _replace(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace each span by the mark. Spans are in order and may overlap."""
    parts, done = [], 0
    for start, end in spans:
        if start >= done:
            parts += [text[done:start], MARK]
        done = max(done, end)
    return "".join([*parts, text[done:]])


def _common(one: str, other: str) -> int:
    """Return the number of characters that two texts share at their beginning."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Add the characters of base64 that share a group of four with the secret's."""
    for _ in range(4):
        start -= start > 0 and text[start - 1] in _BASE64
        end += end < len(text) and text[end] in _BASE64
    return start, end


def _text(value: Any) -> Any:
    return redact(value) if isinstance(value, str) else value


def _redact(text: str, find_forms: _FindForms) -> str:
    if len(text) < SHORTEST:  # names of fields, mostly: every image has a record
        return text
    text = _redact_known(text, find_forms())
    if "://" in text:
        text = _URL_PASSWORD.sub(rf"\1{MARK}@", text)
    lower = text.lower()
    if any(word in lower for word in _HEADER_WORDS):  # plain search is 50 times as fast as the expression
        text = _BEARER.sub(rf"\1{MARK}", _HEADER.sub(rf"\1{MARK}", text))
    return text


def _redact_known(text: str, forms: Iterable[_Form]) -> str:
    """Return a text without the secrets whose values are known, for tables; prompts must stay as they are."""
    spans = sorted(span for form in forms for span in form.spans(text))
    return _replace(text, spans) if spans else text


def _redact_data(data: Any, find_forms: _FindForms) -> Any:
    if isinstance(data, str):
        return _redact(data, find_forms)
    if isinstance(data, Mapping):
        return {
            _redact(name, find_forms) if isinstance(name, str) else name: _redact_field(name, value, find_forms)
            for name, value in data.items()
        }
    if isinstance(data, list | tuple):
        return [_redact_data(value, find_forms) for value in data]
    return MARK if hasattr(data, "get_secret_value") else data


def _redact_field(name: Any, value: Any, find_forms: _FindForms) -> Any:
    if isinstance(name, str) and isinstance(value, str) and value and _SECRET_FIELD.fullmatch(name):
        return MARK
    return _redact_data(value, find_forms)


def _find_forms() -> tuple[_Form, ...]:
    return _forms(_secret_values())


_FindForms = Callable[[], "tuple[_Form, ...]"]


def _secret_values() -> frozenset[str]:
    """Return all current secrets; variables may be set and options read at any time."""
    names = _named_variables.union(filter(_is_secret_name, os.environ))
    values = {os.environ.get(name, "") for name in names} | _option_values
    return frozenset(values)


@cache
def _is_secret_name(variable: str) -> bool:
    return _SECRET_VARIABLE.search(variable) is not None


@lru_cache(maxsize=8)
def _forms(secrets: frozenset[str]) -> tuple[_Form, ...]:
    """Return every form of these secrets that is too long to be ordinary text."""
    plain = {secret for value in secrets for secret in (value, value.strip()) if not _is_ordinary(secret)}
    forms = [_Form(text) for text in {form for secret in plain for form in _written(secret)}]
    forms += [_Form(text, encoded=True) for text in {form for secret in plain for form in _in_base64(secret)}]
    return tuple(form for form in forms if len(form.text) >= SHORTEST)


def _is_ordinary(value: str) -> bool:
    text = value.strip()
    return len(text) < SHORTEST or (len(text) < _SURELY_RANDOM and _WORDS.fullmatch(text) is not None)


def _written(secret: str) -> set[str]:
    """Return the forms of a secret in texts, files and addresses; messages within messages are escaped twice."""
    forms = {secret, " ".join(secret.split()), secret.encode("utf-8", "surrogateescape").decode("latin-1")}
    forms |= {encoded for form in forms for encoded in _encoded(form)}
    for _ in range(2):
        forms |= {quoted for form in forms for quoted in _quoted(form)}
    data = secret.encode("utf-8", "surrogateescape").hex()
    return forms | {data, data.upper()}


def _quoted(text: str) -> Iterator[str]:
    import html
    import json

    yield repr(text)[1:-1]
    yield repr(f"{text}'\"")[1:-4]  # with each single quote escaped
    yield text.encode("unicode_escape").decode()
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield text.replace('"', '""')  # in CSV
    yield html.escape(text)


def _encoded(text: str) -> Iterator[str]:
    from urllib.parse import quote, quote_plus

    data = text.encode("utf-8", "surrogateescape")
    yield repr(data)[2:-1]
    for encoded in (quote(data), quote(data, safe=""), quote_plus(data)):
        yield encoded
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), encoded)


def _in_base64(secret: str) -> Iterator[str]:
    """Yield the parts of a secret's base64 that do not depend on the text before and after it."""
    from base64 import b64encode, urlsafe_b64encode

    data = secret.encode("utf-8", "surrogateescape")
    for before in range(3):
        first, last = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(bytes(before) + data).decode()[first:last]
