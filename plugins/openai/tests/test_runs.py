"""Whole runs on the test server: through the command line, and with a metric that asks for preferences."""

from __future__ import annotations

import base64
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from PIL import Image as PILImage
from t2i_core import ModelRequest, evaluate
from t2i_core.api import Derive, Measure, Metric, MetricInfo, Need, PairMetric, Query, Row
from t2i_core.api.errors import BadModel, BadOption, CostLimitReached
from t2i_core.api.progress import Silent
from t2i_core.api.resolver import installed_resolver
from t2i_core.engine.dry_run import forecast_request
from t2i_core.engine.request import Request

pytestmark = pytest.mark.long  # each test starts the command and a server

TEXTS = ["a cat", "a dog", "a horse", "a boat"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with prompts, and an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "prompts.txt").write_text("\n".join(TEXTS) + "\n")
    return tmp_path


def arguments(server, *more):
    options = [f"{name}={value}" for name, value in server.options.items()]
    return [
        sys.executable, "-m", "t2i_cli", "generate", "--model", "openai:test", "--prompts", "prompts.txt",
        "--seeds", "2", "--out", "run",
        *(word for o in options for word in ("-o", f"generator:openai.{o}")), *more,
    ]  # fmt: skip


def t2i(server, *more):
    return subprocess.run(arguments(server, *more), capture_output=True, text=True, timeout=240, check=False)


class Battles(PairMetric):
    """Who wins, asked in both orders."""

    needs = (
        Need(
            "battle",
            "prefer",
            queries=lambda s: [
                Query((a.image, b.image), (a.prompt.text,), {"definitions": {a.prompt.text: "a thing"}})
                for a, b in (s, s[::-1])
            ],
        ),
    )

    def measure(self, unit):
        for order, answer in enumerate(unit.one().all("battle")):
            yield Row("win", float(answer.verdict == ("first", "second")[order]),
                      {"verdict": answer.verdict, "order": order})  # fmt: skip

    def aggregate(self, table, weights):
        share = float(weights @ table["value"].to_numpy() / weights.sum())
        return {"one": share, "two": 1 - share}


BATTLES = MetricInfo(
    name="battles", summary="Who wins.", create=Battles, measures=(Measure("win", "Wins.", low=0, high=1),)
)


def battles(server, out="run", **judge):
    return evaluate(
        BATTLES,
        [ModelRequest("openai:one", "one"), ModelRequest("openai:two", "two", {"send_seed": True})],
        prompts="prompts.txt",
        judge="prefer=openai:judge",
        seeds=2,
        options={"generator:openai": server.options, "judge:openai": {**server.options, **judge}},
        out=out,
    )


class Brightness(Metric):
    """How bright images are."""

    needs = (
        Need("light", "pixels", derive=Derive("mean", lambda pixels, _: {"mean": np.array([pixels.mean()])})),
    )

    def measure(self, unit):
        yield Row("brightness", float(unit.one().derived("light")["mean"][0]))


def brightness(server):
    info = MetricInfo(name="brightness", summary="B.", create=Brightness, measures=(Measure("brightness", "B."),))
    options = {"generator:openai": server.options}
    return evaluate(info, "openai:one", prompts="prompts.txt", seeds=2, options=options, out="run")


def test_generate(server, folder):
    server.script += [server.error(500), server.cut, server.error(429, headers={"Retry-After": "0"})]
    done = t2i(server, "-o", "generator:openai.price_per_image=0.04", "-o", "generator:openai.send_seed=true")
    assert done.returncode == 0, done.stderr
    samples = pd.read_csv("run/samples.csv")
    assert len(samples) == 8
    for sample in samples.itertuples():
        pixels = np.asarray(PILImage.open(folder / "run" / sample.image))
        np.testing.assert_array_equal(pixels, server.drawn(sample.text, sample.seed))
        assert json.loads(sample.record)["cost"] == 0.04
    reported = json.loads((folder / "run/run.json").read_text())["models"]["openai:test"]["reported"]
    assert reported == {
        "model": "test", "served_as": ["test-v2"], "requests": 11, "retries": 3, "refusals": 0, "tokens_in": 80,
        "tokens_out": 800,
    }  # fmt: skip
    spent = json.loads((folder / "run/run.json").read_text())["spent"]["generator openai:test"]
    assert spent["usd"] == pytest.approx(0.32 + spent["unconfirmed"])  # the only sum of money
    server.log.clear()
    again = t2i(server, "-o", "generator:openai.send_seed=true")
    assert again.returncode == 0, again.stderr
    assert server.log == []  # all is kept: nothing is paid twice


def test_a_run_stops_at_its_limit_and_the_same_command_goes_on(server, folder):
    limit = ("-o", "generator:openai.price_per_image=0.04", "--max-cost", "0.2")
    tokens = ("-o", "generator:openai.price_in=5", "-o", "generator:openai.price_out=40")
    refused = t2i(server, "--max-cost", "0.2", *tokens)
    assert refused.returncode == BadOption.exit_code
    assert "set image_tokens" in refused.stderr
    planned = t2i(server, *limit, "--dry-run", "--json")
    assert json.loads(planned.stdout)["cost"]["most"] == pytest.approx(0.32)
    assert server.log == []
    stopped = t2i(server, *limit)
    assert stopped.returncode == CostLimitReached.exit_code
    assert "cost: at most $0.32 for 8 requests to generator openai:test" in stopped.stdout
    assert "this command has spent $0.20; 5 of 8 images by openai:test are made" in stopped.stderr
    assert len(server.log) == 5
    done = t2i(server, *limit)
    assert done.returncode == 0, done.stderr
    assert len(server.log) == 8
    spent = json.loads((folder / "run/run.json").read_text())["spent"]
    assert spent == {"generator openai:test": {"usd": 0.32, "unconfirmed": 0.0}}


def test_failed_requests_are_repeated_and_refused_ones_are_not(server, folder):
    refused = server.error(400, "rejected", code="moderation_blocked")

    def default(handler, body):
        act = {"a cat": refused, "a dog": server.error(400, "no")}.get(body["prompt"], server.good)
        act(handler, body)

    server.default = default
    run = brightness(server)
    assert run.failed  # more than a run allows
    reasons = Counter(pd.read_csv(run.folder / "failures.csv")["reason"])
    assert reasons == {"refused by the server: moderation_blocked": 2, "the server answered 400": 2}
    server.log.clear()
    server.default = server.good
    brightness(server)
    assert [exchange.body["prompt"] for exchange in server.log] == ["a dog", "a dog"]


def test_a_wrong_key_ends_the_command(server, folder, key):
    server.default = server.error(401, f"Incorrect API key provided: {key[:6]}***{key[-4:]}")
    done = t2i(server)
    assert done.returncode == 12
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert lines == [
        f"error: {server.url} does not accept the key in the environment variable OPENAI_API_KEY (401)"
    ]
    assert "Traceback" not in done.stderr
    assert key[-4:] not in done.stderr + done.stdout


def test_ctrl_c_leaves_at_once(server, folder):
    server.default = server.late(60)
    running = subprocess.Popen(
        arguments(server, "-o", "generator:openai.timeout=60"), stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        while not server.log and running.poll() is None:
            time.sleep(0.05)
        begun = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130, stderr
    assert time.monotonic() - begun < 20
    assert b"Traceback" not in stderr


def test_preferences(server, folder):
    run = battles(server)
    table = run.measurements()
    assert len(table) == 4 * 2 * 2
    # the server prefers the brighter image: what it was shown decides, in either order
    for row in table.itertuples():
        brighter = server.drawn(_text(row.prompt)).mean()
        other = server.drawn(_text(row.prompt), row.seed).mean()
        assert row.value == float(brighter > other)
    scores = {result.label: result.score for result in run.results}
    assert scores["one"] == pytest.approx(table["value"].mean())
    assert scores["two"] == pytest.approx(1 - table["value"].mean())
    questions = [e for e in server.log if e.path.endswith("/chat/completions")]
    assert len(questions) == 16
    assert all(
        "- a cat: a thing" in json.dumps(q.body) for q in questions if "Prompt: a cat" in json.dumps(q.body)
    )


def _text(prompt_id):
    return prompt_id.replace("-", " ")


def test_verdicts_that_decide_nothing_are_answers(server, folder):
    def default(handler, body):
        if "messages" not in body:
            server.good(handler, body)
            return
        said = json.dumps(body)
        act = next(
            act
            for text, act in {
                "a cat": server.say(None, refusal="no"),
                "a dog": server.say("who knows"),
                "a horse": server.say("[[C]]"),
                "a boat": server.say("[[D]]"),
            }.items()
            if f"Prompt: {text}" in said
        )
        act(handler, body)

    server.default = default
    run = battles(server)
    found = run.measurements().groupby("prompt")["verdict"].unique()
    assert {name: list(verdicts) for name, verdicts in found.items()} == {
        "a-cat": ["refused"], "a-dog": ["unparsable"], "a-horse": ["tie"], "a-boat": ["both_bad"],
    }  # fmt: skip


def test_a_question_that_fails_is_a_failed_sample(server, folder):
    def default(handler, body):
        broken = "messages" in body and "Prompt: a cat" in json.dumps(body)
        (server.page if broken else server.good)(handler, body)

    server.default = default
    run = battles(server)
    assert run.failed
    assert set(run.measurements()["prompt"]) == {"a-dog", "a-horse", "a-boat"}
    reasons = set(pd.read_csv(run.folder / "failures.csv")["reason"])
    assert reasons == {"the answer is not JSON (24 bytes) (3 tries)"}


class TestSecrecy:
    """A server that says the key wherever it can say anything."""

    @pytest.fixture
    def babbling(self, server, key):
        def default(handler, body):
            if "messages" in body:
                act = (
                    server.error(400, f"bad: {key}")
                    if "Prompt: a cat" in json.dumps(body)
                    else server.error(400, f"policy: {key}", code="content_filter")
                    if "Prompt: a dog" in json.dumps(body)
                    else server.say(f"{key} says [[A]]", reasoning=f"I know {key}")
                )
                body["model"] = f"model of {key}"
                act(handler, body)
            elif body["prompt"] == "a boat":
                server.error(400, f"rejected: {key}", code="moderation_blocked")(handler, body)
            else:
                body["prompt"] += f" for {key}"
                body["model"] = f"model of {key}"
                server.good(handler, body)

        server.default = default
        return server

    def written(self, folder, key):
        """The files that hold the key, plain or as base64."""
        secrets = [key.encode(), base64.b64encode(key.encode())]
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert len(files) > 10
        return [str(file) for file in files if any(secret in file.read_bytes() for secret in secrets)]

    def test_nothing_written_holds_the_key(self, babbling, folder, key):
        run = battles(babbling)
        assert self.written(folder, key) == []
        assert key not in json.dumps(run.to_json())
        reasons = set(pd.read_csv(run.folder / "failures.csv")["reason"])
        assert reasons == {"refused by the server: moderation_blocked", "the server answered 400"}

    def test_nothing_shown_or_logged_holds_the_key(self, babbling, folder, key):
        os.environ["OPENAI_LOG"] = "debug"
        try:
            done = t2i(babbling)
        finally:
            del os.environ["OPENAI_LOG"]
        assert done.returncode == 8  # the boat is refused
        assert "***" in done.stdout + done.stderr + (folder / "run/samples.csv").read_text()
        assert key not in done.stdout + done.stderr
        assert self.written(folder, key) == []

    def test_no_log_of_the_library_holds_the_key(self, babbling, folder, key, caplog):
        with caplog.at_level(logging.DEBUG):
            battles(babbling)
        assert caplog.records
        assert key not in caplog.text

    @pytest.mark.parametrize(
        "option",
        [
            {"base_url": "http://user:hunter2secret@127.0.0.1/v1"},
            {"base_url": "http://127.0.0.1/v1?key=hunter2secret"},
            {"base_url": "hunter2secret"},
            {"api_key_env": "sk-hunter2secret"},
        ],
    )
    def test_secrets_as_options_are_refused_without_repeating_them(self, server, folder, option):
        with pytest.raises(BadOption) as caught:
            evaluate(
                BATTLES, "openai:one", prompts="prompts.txt", judge="prefer=openai:judge", seeds=1, out="run",
                options={"generator:openai": {**server.options, **option}},
            )  # fmt: skip
        assert "hunter2secret" not in str(caught.value)
        assert not (folder / "run").exists()


def test_a_key_that_is_not_there(folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadModel, match="needs a key; set the environment variable OPENAI_API_KEY"):
        evaluate(BATTLES, "openai:one", prompts="prompts.txt", judge="prefer=openai:judge", seeds=1, out="run")
    with pytest.raises(BadModel, match="which --offline forbids"):
        evaluate(
            BATTLES, ["openai:one", "openai:two"], prompts="prompts.txt", judge="prefer=openai:judge", seeds=1,
            out="run", offline=True,
        )  # fmt: skip


@pytest.mark.parametrize(
    "planned",
    [
        Request(models=(ModelRequest("openai:one"),), prompts=("prompts.txt",)),
        Request(
            models=(ModelRequest("simulator"),),
            prompts=("rewritten:prompts.txt",),
            options={"rewritten": {"model": "m"}},
        ),
    ],
    ids=["model", "prompts"],
)
def test_a_dry_run_refuses_a_key_that_is_not_there(folder, monkeypatch, planned):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadModel, match="needs a key; set the environment variable OPENAI_API_KEY"):
        forecast_request(planned, installed_resolver(), Silent())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdefghijklmnop")
    forecast_request(planned, installed_resolver(), Silent())


def test_a_server_that_needs_a_missing_key(server, folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    server.default = server.error(401, "no key")
    with pytest.raises(BadModel, match="needs a key; set the environment variable OPENAI_API_KEY"):
        battles(server)


def test_an_address_without_its_end_is_looked_at(server, folder):
    """What is served at /v1 is not found without it, whatever the model."""
    with pytest.raises(BadModel, match=r"(?s)404.*check base_url too, which usually ends in /v1"):
        battles(server, base_url=server.root)


def test_a_server_that_wants_no_key(server, folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    battles(server)
    assert {exchange.headers["authorization"] for exchange in server.log} == {"Bearer none"}
