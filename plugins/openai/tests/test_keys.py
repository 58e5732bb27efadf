"""Odd keys are stripped and sent, or refused in one line; neither server nor client can make t2i store them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import httpx2
import openai
import pytest
from t2i_core import ModelRequest, evaluate
from t2i_core.api import Measure, MetricInfo, Need, PairMetric, Query, Row
from t2i_core.api.errors import BadOption
from typer.testing import CliRunner

GOOD = {
    "line end": "sk-fake-a1b2c3d4e5f6g7h8\r",
    "blanks and line ends": "\n\t  sk-fake-i9j0k1l2m3n4o5p6 \r\n",
    "of addresses": "sk%fake+q7r8/s9t0=u1v2?w3&x4",
    "quotes": "sk'fake\"y5z6\\a7b8`c9'd0\"",
    "long": "sk-fake-" + "".join(f"{n:x}" for n in range(900)),
    "base64": "ZmFrZTplMWYyZzNoNGk1ajZrNw==",
    "blank inside": "sk-fake e8f9g0h1 i2j3k4l5",
}
BAD = {
    "line end inside": "sk-fake-m6n7\no8p9q0r1",
    "carriage return inside": "sk-fake-m6n7\ro8p9q0r1",
    "escape sequence": "sk-fake-m6n7\x1b[2Jo8p9q0r1",
    "beyond ASCII": "sk-fäke-m6n7o8p9q0r1",
}


class Battles(PairMetric):
    needs = (Need("battle", "prefer", queries=lambda s: [Query((s[0].image, s[1].image), (s[0].prompt.text,))]),)

    def measure(self, unit):
        yield Row("win", float(unit.one().one("battle").verdict == "first"))

    def aggregate(self, table, weights):
        share = float(weights @ table["value"].to_numpy() / weights.sum())
        return {"one": share, "two": 1 - share}


BATTLES = MetricInfo(name="battles", summary="W.", create=Battles, measures=(Measure("win", "W.", low=0, high=1),))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "prompts.txt").write_text("a cat\na dog\na horse\n")
    return tmp_path


@pytest.fixture(params=GOOD)
def odd(request, server, monkeypatch):
    monkeypatch.setenv("ODD_KEY_HERE", GOOD[request.param])  # only the option says that it is a key
    return GOOD[request.param]


def forms(key):
    data = key.strip().encode()
    found = {
        key, key.strip(), repr(key)[1:-1], repr(data)[2:-1], json.dumps(key.strip())[1:-1], quote(data, safe=""),
        key.strip().replace('"', '""'), key.strip()[:16], key.strip()[-16:],
        *(base64.b64encode(b"x" * n + data).decode()[4 if n else 0 : -4] for n in range(3)),
        *(base64.urlsafe_b64encode(b"x" * n + data).decode()[4 if n else 0 : -4] for n in range(3)),
    }  # fmt: skip
    return [form.encode() for form in found]


def holding(key, *outputs):
    files = {str(file): file.read_bytes() for file in Path().rglob("*") if file.is_file()}
    assert len(files) > 8
    places = {**files, **{f"output {n}": text.encode() for n, text in enumerate(outputs)}}
    return [(place, form) for place, data in places.items() for form in forms(key) if form in data]


def battles(server, **more):
    own = {**server.options, "api_key_env": "ODD_KEY_HERE", **more}
    return evaluate(
        BATTLES, [ModelRequest("openai:one", "one"), ModelRequest("openai:two", "two", {"send_seed": True})],
        prompts="prompts.txt", judge="prefer=openai:judge", seeds=2, out="run", max_failed=1,
        options={"generator:openai": own, "judge:openai": own},
    )  # fmt: skip


@pytest.mark.long
def test_it_is_sent_without_blanks(server, folder, odd):
    battles(server)
    assert {exchange.headers["authorization"] for exchange in server.log} == {f"Bearer {odd.strip()}"}


@pytest.mark.long
def test_a_server_that_says_it_everywhere(server, folder, odd, capfd, caplog):
    key = odd.strip()
    said = " ".join([
        key, repr(key), quote(key, safe=""), base64.b64encode(key.encode()).decode(), f"Bearer {key}",
        base64.urlsafe_b64encode(f"user:{key}".encode()).decode(), json.dumps({"x-api-key": key}),
        f"{key[:16]}...",
    ])  # fmt: skip

    def default(handler, body):
        body["model"] = f"model of {said}"
        if "a dog" in json.dumps(body):
            server.error(400, f"bad: {said}", code=key, param=key)(handler, body)
        elif "messages" in body:
            server.say(f"{said} says [[A]]", reasoning=f"I know {said}")(handler, body)
        elif body["prompt"] == "a horse" and body.get("seed") == 1:
            server.error(400, f"rejected: {said}", code="content_filter", type=key)(handler, body)
        else:
            body["prompt"] += f" for {said}"
            server.good(handler, body)

    server.default = default
    run = battles(server)
    assert len(run.measurements()) > 0
    shown = capfd.readouterr()
    assert holding(odd, shown.out, shown.err, caplog.text, json.dumps(run.manifest.to_json())) == []
    samples = (folder / "run/samples.csv").read_text()
    assert "***" in samples
    assert "refused by the server: content_filter" in samples


class FailingClient:
    """A client that raises what the real one would, with the header that it could not send."""

    def __init__(self, api_key, **_):
        self.key = api_key
        self.images = self.chat = self.completions = self.with_raw_response = self

    async def generate(self, prompt="", **_):
        header = f"Bearer {self.key}".encode()
        if prompt == "a cat":
            raise RuntimeError(f"Illegal header value {header!r}, {self.key!r}, {self.key}")
        try:
            raise OSError(f"no connection with {header!r}")
        except OSError as error:
            request = httpx2.Request("GET", "http://127.0.0.1")
            raise openai.APIConnectionError(message=self.key, request=request) from error

    create = generate

    async def close(self):
        pass


@pytest.mark.long
@pytest.mark.parametrize("odd", ["line end", "quotes", "of addresses"], indirect=True)
def test_a_client_that_fails_with_it_in_the_message(server, folder, odd, capfd, monkeypatch):
    """As a command, so that all is there that a user sees; the judge and the generator fail alike."""
    from t2i_cli.app import app

    monkeypatch.setattr("openai.AsyncOpenAI", FailingClient)
    words = ["generate", "--model", "openai:test", "--prompts", "prompts.txt", "--seeds", "2", "--out", "run"]
    options = {**server.options, "api_key_env": "ODD_KEY_HERE", "retries": 0}
    for name, value in options.items():
        words += ["-o", f"generator:openai.{name}={value}"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 8, done.output
    assert holding(odd, done.output, capfd.readouterr().err) == []
    assert "RuntimeError: Illegal header value b'Bearer ***'" in (folder / "run/failures.csv").read_text()


@pytest.mark.long
@pytest.mark.parametrize("odd", ["line end", "quotes", "of addresses"], indirect=True)
def test_a_judge_s_client_that_fails_with_it_in_the_message(server, folder, odd, capfd, monkeypatch):
    made = openai.AsyncOpenAI

    def client(**more):
        judges = "judge" in str(more["base_url"])
        return FailingClient(**more) if judges else made(**more)

    monkeypatch.setattr("openai.AsyncOpenAI", client)
    own = {**server.options, "api_key_env": "ODD_KEY_HERE", "retries": 0}
    run = evaluate(
        BATTLES, [ModelRequest("openai:one", "one"), ModelRequest("openai:two", "two", {"send_seed": True})],
        prompts="prompts.txt", judge="prefer=openai:judge", seeds=2, out="run", max_failed=1,
        options={"generator:openai": own, "judge:openai": {**own, "base_url": f"{server.root}/judge"}},
    )  # fmt: skip
    shown = capfd.readouterr()
    assert holding(odd, shown.out, shown.err, json.dumps(run.manifest.to_json())) == []
    assert "connection" in (folder / "run/failures.csv").read_text()


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("part", ["generator", "judge"])
def test_a_key_that_is_none_is_one_line_and_not_repeated(server, folder, name, part, monkeypatch):
    monkeypatch.setenv("ODD_KEY_HERE", BAD[name])
    options = {f"{each}:openai": dict(server.options) for each in ("generator", "judge")}
    options[f"{part}:openai"]["api_key_env"] = "ODD_KEY_HERE"
    with pytest.raises(BadOption) as caught:
        evaluate(
            BATTLES, ["openai:one", "openai:two"], prompts="prompts.txt", judge="prefer=openai:judge", seeds=1,
            options=options, out="run",
        )  # fmt: skip
    assert "ODD_KEY_HERE" in str(caught.value)
    assert "m6n7" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert server.log == []
    assert not (folder / "run").exists()


@pytest.mark.long
def test_blanks_alone_are_not_a_key(server, folder, monkeypatch):
    monkeypatch.setenv("ODD_KEY_HERE", " \r\n")
    battles(server)
    assert {exchange.headers["authorization"] for exchange in server.log} == {"Bearer none"}
