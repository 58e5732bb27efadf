"""Secrets of the process are found in whatever form a message holds them; ordinary text stays as it is."""

from __future__ import annotations

import base64
import html
import json
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from t2i_core.api.errors import BadModel, BadOption
from t2i_core.api.options import Options, read_secret
from t2i_core.api.redaction import RedactingFile, learn_secrets, redact, redact_data, redact_error
from t2i_core.api.text import fit_one_line

KEYS = {
    "plain": "sk-fake-0123456789abcdefghij",
    "line end": "sk-fake-0123456789abcdefghij\r\n",
    "line end inside": "sk-fake-0123\n456789abcdefghij",
    "blanks around": "  sk-fake-0123456789abcdefghij\t",
    "beyond ASCII": "sk-fäke-0123456789-ключ-鍵",
    "of addresses": "sk%fake+0123/4567 89=ab&c?d#e",
    "quotes": "sk'fake\"0123\\4567`89'ab\"",
    "long": "sk-fake-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 60,
    "base64": "c2stZmFrZS0wMTIzNDU2Nzg5+/8=",
    "no UTF-8": "sk-fake-\udcff\udcfe-0123456789",
    "short": "p4ss-w0r",
}


def forms(key: str) -> dict[str, str]:
    data = key.encode("utf-8", "surrogateescape")
    user = b"user:" + data
    return {
        "as it is": key,
        "stripped": key.strip(),
        "repr": repr(key),
        "repr of bytes": repr(b"Bearer " + data),
        "repr in repr": repr(repr(key)),
        "ascii": ascii(key),
        "JSON": json.dumps(key),
        "JSON as text": json.dumps(key, ensure_ascii=False),
        "repr in JSON": json.dumps(repr(key)),
        "URL": quote(data, safe=""),
        "URL, slashes kept": quote(data),
        "form": quote_plus(data),
        "URL, small letters": quote(data, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
        "base64": base64.b64encode(data).decode(),
        "base64 for URLs": base64.urlsafe_b64encode(data).decode(),
        "basic": "Basic " + base64.b64encode(user).decode(),
        "base64 after one more": base64.b64encode(b"a:" + data).decode(),
        "hex": data.hex(),
        "HTML": html.escape(key),
        "CSV": key.replace('"', '""'),
        "header": f"Authorization: Bearer {key}",
    }


def leaks(text: str, key: str) -> bool:
    """Whether 8 characters in a row of the key, in any form, are left."""
    pure = {name: form for name, form in forms(key.strip()).items() if name not in ("header", "basic")}
    pure["repr of bytes"] = pure["repr of bytes"].removeprefix("b'").removeprefix("Bearer ")
    pure["base64 after one more"] = pure["base64 after one more"][4:]
    pieces = {form[n : n + 8] for form in (f.strip("\"'") for f in pure.values()) for n in range(len(form) - 7)}
    return any(piece in text for piece in pieces)


@pytest.fixture(params=KEYS)
def key(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SOME_API_KEY", KEYS[request.param])
    return KEYS[request.param]


def test_every_form_is_replaced(key: str) -> None:
    for name, form in forms(key).items():
        found = redact(f"before {form} after")
        assert "***" in found, name
        assert not leaks(found, key), (name, found)
        assert found.startswith("before "), name
        assert found.endswith(" after"), name


@pytest.mark.parametrize("key", [key for key in KEYS if len(KEYS[key].strip()) >= 24], indirect=True)
def test_a_key_that_a_library_cut_is_replaced(key: str) -> None:
    plain = key.strip()
    for cut in (f"{plain[:16]}...", f"...{plain[-16:]}", f"{plain[:14]}...{plain[-14:]}"):
        assert redact(f"key {cut} is wrong").replace("...", "") in ("key *** is wrong", "key ****** is wrong")


def test_reasons_and_errors_hold_no_key(key: str) -> None:
    for name, form in forms(key).items():
        assert not leaks(fit_one_line(f"ValueError: {form}"), key), name
        assert not leaks(str(BadModel(f"cannot ask with {form}")), key), name


def test_a_key_at_the_end_of_a_long_reason_is_not_cut_into_an_unknown_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEYS["plain"])
    for blanks in range(4970, 5000):
        assert "sk-f" not in fit_one_line(" " * blanks + KEYS["plain"])


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=20, max_size=90), st.text())
def test_any_key_in_any_text(key: str, around: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_API_KEY", key)
        for form in forms(key).values():
            assert key.strip() not in redact(around + form + around) or key.strip() in around or not key.strip()


def test_errors_behind_an_error_are_redacted_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEYS["line end"])

    class OfALibrary(Exception):
        def __init__(self, message: str) -> None:
            super().__init__(message)
            self.message = message

        def __str__(self) -> str:
            return self.message

    try:
        try:
            raise ValueError(f"Illegal header value {KEYS['line end'].encode()!r}")
        except ValueError as inner:
            inner.add_note(KEYS["line end"])
            raise OfALibrary(f"no connection with {KEYS['plain']}") from inner
    except OfALibrary as error:
        redact_error(error)
        text = "".join(traceback.format_exception(error))
    assert "Illegal header value b'***'" in text
    assert "OfALibrary: no connection with ***" in text
    assert "0123456789" not in text


def test_fields_that_errors_print_are_redacted() -> None:
    key = "sk-fake-0123456789abcdefghij"
    errors = [
        OSError(5, f"refused {key}", f"/{key}", None, f"/{key}"),
        SyntaxError(f"bad {key}", ("config", 1, 1, f"key = {key}")),
        ImportError(f"no module {key}"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, f"not {key}"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_API_KEY", key)
        for error in errors:
            redact_error(error)
            assert key not in "".join(traceback.format_exception(error)), type(error)


def test_a_component_s_options_say_what_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    class Inner(Options):
        password: SecretStr = SecretStr("inner-0123456789")

    class Some(Options):
        key_env: str = "WHERE_IT_IS"
        token: SecretStr = SecretStr("outer-0123456789")
        inner: Inner = Inner()

    text = "outer-0123456789, inner-0123456789, named-0123456789"
    monkeypatch.setenv("WHERE_IT_IS", "named-0123456789")
    assert redact(text) == text
    learn_secrets(Some())
    assert redact(text) == "***, ***, ***"


def test_fields_and_addresses_that_hold_unknown_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {
        "headers": {"Authorization": "Bearer x1", "X-API-Key": "x2", "Accept": "a"}, "password": "x3",
        "url": "https://me:x4@host/path", "tokens": 5, "cause": "got {'authorization': 'Bearer x5'}",
        "command": ["-o", "a.headers={Authorization: Basic x6}"], "key": SecretStr("x7"),
    }  # fmt: skip
    found = json.dumps(redact_data(data))
    assert not [secret for secret in ("x1", "x2", "x3", "x4", "x5", "x6", "x7") if secret in found]
    kept = redact_data({"Accept": "a", "tokens": 5, "seed": [1, 2.5, None], "path": "https://host:80/a@b"})
    assert kept == {"Accept": "a", "tokens": 5, "seed": [1, 2.5, None], "path": "https://host:80/a@b"}


def test_prompts_in_tables_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setenv("SOME_API_KEY", KEYS["plain"])
    text = "authorization,a sign that reads Authorization: required,0\r\nhttp://a:b@c,x,1\r\n"
    file = io.StringIO(newline="")
    table = RedactingFile(file)
    table.write(text)
    table.write(f"{KEYS['plain']},x,1\r\n")
    table.flush()
    assert file.getvalue() == f"{text}***,x,1\r\n"


@pytest.mark.parametrize("value", ["", "x", "EMPTY", "none", "lm-studio", "photograph", "12345678", "sk-no-key"])
def test_a_word_in_a_variable_blanks_nothing(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", value)
    text = f"a {value} photograph of 12345678 EMPTY rooms by lm-studio, standard Bearer of a bearer, authorization"
    assert redact(text) == text


def test_other_variables_are_not_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_PATH", "/data/0123456789abcdef")
    monkeypatch.setenv("MAX_TOKENS", "0123456789abcdef")
    monkeypatch.setenv("MONKEY", "0123456789abcdef")
    assert redact("/data/0123456789abcdef") == "/data/0123456789abcdef"


@pytest.mark.parametrize("name", ["line end inside", "beyond ASCII", "no UTF-8"])
def test_a_key_that_can_be_none_is_refused_and_not_repeated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEYS[name])
    with pytest.raises(BadOption) as caught:
        read_secret("SOME_API_KEY")
    assert "SOME_API_KEY" in str(caught.value)
    assert "0123" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(("value", "read"), [(" \t\r\n", None), ("", None), (KEYS["line end"], KEYS["plain"])])
def test_keys_are_stripped(value: str, read: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", value)
    assert read_secret("SOME_API_KEY") == read
