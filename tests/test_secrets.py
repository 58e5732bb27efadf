"""Plugins that spill every secret they can get: nothing that a run writes or prints holds one, in any form."""

from __future__ import annotations

import base64
import html
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from t2i_core.testing.fake_dists import fake_dist

KEYS = {
    "LINE_END_API_KEY": "sk-fake-a1b2c3d4e5f6g7h8\r",
    "BLANKS_TOKEN": "  sk-fake-i9j0k1l2m3n4o5p6\t",
    "UNICODE_SECRET": "sk-fäke-q7r8-ключ-s9t0-鍵鍵",
    "ADDRESS_API_KEY": "sk+fake/u1v2%w3x4 y5&z6=a7?",
    "QUOTES_PASSWORD": "sk'fa\"ke\\b8c9`d0'e1\"f2",
    "LONG_API_KEY": "sk-fake-" + "".join(f"{n:x}" for n in range(900)),
    "BASE64_TOKEN": "ZmFrZTpnM2g0aTVqNms3bDg5bTA=",
    "SPLIT_API_KEY": "sk-fake-n1o2\np3q4r5s6t7u8",
    "HF_TOKEN": "hf_fakeV9W0X1Y2Z3a4b5c6",
}
OPTION = "opt-fake-k1l2m3n4o5p6"
NOT_UNDERSTOOD = "Bearer hdr-fake-q7r8s9t0"
"""A header as an option: nobody knows that it is a secret but by its name."""

LEAKY = """
    import base64, json, logging, os, sys, threading, warnings
    from urllib.parse import quote
    import numpy as np
    from pydantic import SecretStr
    from t2i_core.api import (
        Failure, Generated, GeneratorInfo, JudgeInfo, Measure, Metric, MetricInfo, Need, Options, PairMetric,
        Query, Row, hookimpl,
    )
    from t2i_core.api.errors import BadModel
    from t2i_core.api.metric_output import Excluded, Note
    from t2i_core.api import Preference

    NAMES = os.environ["SPILL"].split(",")

    class LeakyOptions(Options):
        token: SecretStr = SecretStr("")
        extra: dict = {}
        fatal: bool = False

    def keys(options):
        return [os.environ[name] for name in NAMES] + [options.token.get_secret_value()]

    def spilled(key):
        data = key.encode("utf-8", "surrogateescape")
        return " | ".join([
            key, key.strip(), repr(key), repr(data), json.dumps(key), quote(data, safe=""),
            base64.b64encode(data).decode(), base64.urlsafe_b64encode(b"user:" + data).decode(),
            f"Authorization: Bearer {key}", f"https://user:{quote(data, safe='')}@host/", key.strip()[:16] + "...",
        ])

    def say(options):
        for key in keys(options):
            print(spilled(key))
            print(spilled(key), file=sys.stderr)
            warnings.warn(spilled(key))
            logging.getLogger("leaky").warning("sent %s", spilled(key))
        def die():
            raise ValueError(spilled(keys(options)[0]))
        thread = threading.Thread(target=die)
        thread.start()
        thread.join()

    class Draws:
        def __init__(self, setup):
            self.options = setup.options
            say(self.options)
            self.settings = {"sent": [spilled(key) for key in keys(self.options)], keys(self.options)[0]: 1}

        def generate(self, requests):
            for request in requests:
                key = keys(self.options)[request.seed % len(keys(self.options))]
                if self.options.fatal:
                    raise BadModel(f"cannot ask with {spilled(key)}") from ValueError(spilled(key))
                way = request.prompt.text
                if way == "raises":
                    try:
                        raise OSError(spilled(key))
                    except OSError as error:
                        raise ConnectionError(f"no answer to {spilled(key)}") from error
                elif way == "fails":
                    yield request, Failure(f"refused: {spilled(key)}", final=True)
                else:
                    image = np.full((8, 8, 3), 1 + request.seed, np.uint8)
                    yield request, Generated(image, {"revised_prompt": spilled(key), spilled(key): [spilled(key)]})

    class Prefers:
        def __init__(self, setup):
            self.options = setup.options
            say(self.options)
            self.settings = {"headers": [spilled(key) for key in keys(self.options)]}

        def observe(self, capability, queries):
            for number, query in enumerate(queries):
                key = keys(self.options)[number % len(keys(self.options))]
                if query.texts[0] == "judge raises":
                    raise RuntimeError(spilled(key))
                if query.texts[0] == "judge fails":
                    yield query, Failure(spilled(key))
                else:
                    yield query, Preference("first", reasoning=spilled(key))

    class Battles(PairMetric):
        needs = (
            Need("battle", "prefer", queries=lambda s: [Query((s[0].image, s[1].image), (s[0].prompt.text,))]),
        )

        def measure(self, unit):
            answer = unit.one().one("battle")
            yield Row("win", float(answer.verdict == "first"), {"why": answer.reasoning})
            yield Note(f"asked with {spilled(os.environ[NAMES[0]])}")

        def aggregate(self, table, weights):
            share = float(weights @ table["value"].to_numpy() / weights.sum())
            return {"one": share, "two": 1 - share}

    @hookimpl
    def t2i_generators():
        return [GeneratorInfo(name="leaky", summary="Spills.", options=LeakyOptions, create=Draws, argument="X")]

    @hookimpl
    def t2i_judges():
        return [JudgeInfo(name="leaky", summary="Spills.", options=LeakyOptions, create=Prefers,
                          capabilities={"prefer": frozenset()})]

    @hookimpl
    def t2i_metrics():
        return [MetricInfo(name="battles", summary="Who wins.", create=Battles,
                           measures=(Measure("win", "Wins.", low=0, high=1),))]
"""
ENTRIES = {group: {"leaky": "leaky_plugin"} for group in ("t2i.generators", "t2i.judges", "t2i.judges.prefer")}
ENTRIES["t2i.metrics"] = {"battles": "leaky_plugin"}


@pytest.fixture
def spilling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with plugins that say all that they know."""
    fake_dist(tmp_path / "site", "leaky", ENTRIES, {"leaky_plugin": LEAKY})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "work" / "cache"))
    monkeypatch.setenv("SPILL", ",".join(KEYS))
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    work = tmp_path / "work"
    work.mkdir()
    (work / "prompts.txt").write_text("drawn\nraises\nfails\njudge raises\njudge fails\n")
    monkeypatch.chdir(work)
    return work


def t2i(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "t2i_cli", *words], capture_output=True, timeout=240, check=False)


def forms(key: str) -> set[bytes]:
    """Every form in which a secret could be in a file."""
    found = set()
    for one in {key, key.strip()}:
        data = one.encode()
        texts = {
            one, repr(one)[1:-1], repr(data)[2:-1], json.dumps(one)[1:-1], html.escape(one), quote(data, safe=""),
            quote(data), quote_plus(data), one.replace('"', '""'), data.hex(),
            one.encode("unicode_escape").decode(),
            *(base64.b64encode(b"x" * n + data).decode()[4 if n else 0 : -4] for n in range(3)),
            *(base64.urlsafe_b64encode(b"x" * n + data).decode()[4 if n else 0 : -4] for n in range(3)),
            one[:16],
        }  # fmt: skip
        found |= {text.encode("utf-8", "backslashreplace") for text in texts}
    return found


def holding(secrets: list[str], *outputs: bytes) -> list[tuple[str, str]]:
    """Which files of the working folder, or outputs, hold a secret in some form."""
    places = {str(file): file.read_bytes() for file in Path().rglob("*") if file.is_file()}
    assert len(places) > 5
    places |= {f"output {n}": output for n, output in enumerate(outputs)}
    wanted = {form: secret for secret in secrets for form in forms(secret)}
    return [(place, wanted[form]) for place, data in places.items() for form in wanted if form in data]


@pytest.mark.long
def test_a_run_holds_no_secret(spilling: Path) -> None:
    header = json.dumps({"Authorization": NOT_UNDERSTOOD})
    done = t2i(
        "eval", "--metric", "battles", "--model", "leaky:a", "--model", "leaky:b", "--judge", "prefer=leaky",
        "--prompts", "prompts.txt", "--seeds", "10", "--max-failed", "1", "--out", "run",
        "-o", f"generator:leaky.token={OPTION}", "-o", f"generator:leaky.extra={header}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    secrets = [*KEYS.values(), OPTION, NOT_UNDERSTOOD.removeprefix("Bearer ")]
    pages = [t2i("report", "run"), t2i("runs", "show", "run"), t2i("runs", "list", "."), t2i("analyze", "run")]
    assert [page.returncode for page in pages] == [0] * 4
    assert Path("report.html").is_file()
    outputs = [output for each in (done, *pages) for output in (each.stdout, each.stderr)]
    assert holding(secrets, *outputs) == []
    # what was said is there, but for the secrets
    manifest = json.loads(Path("run/run.json").read_text())
    assert manifest["models"]["leaky:a"]["reported"]["sent"][0].startswith("*** | *** | '***'")
    failures = Path("run/failures.csv").read_text()
    assert "ConnectionError: no answer to ***" in failures
    assert "refused: ***" in failures
    assert "RuntimeError: ***" in failures
    assert b"sent ***" in done.stderr
    command = " ".join(manifest["command"])
    assert "leaky.token=***" in command


@pytest.mark.long
@pytest.mark.parametrize("debug", ["", "1"])
def test_an_error_that_ends_a_run_holds_no_secret(
    spilling: Path, debug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_DEBUG", debug)
    done = t2i(
        "generate", "--model", "leaky:a", "--prompts", "prompts.txt", "--out", "run",
        "-o", "generator:leaky.fatal=true",
    )  # fmt: skip
    assert done.returncode == 12
    assert holding(list(KEYS.values()), done.stdout, done.stderr) == []
    assert json.loads(Path("run/run.json").read_text())["failed"].startswith("cannot ask with ***")
    assert (b"BadModel: cannot ask with ***" in done.stderr) is bool(debug)


@pytest.mark.long
def test_a_secret_option_that_is_not_valid_is_not_repeated(spilling: Path) -> None:
    """It is refused before anything knows that it is a secret, but by the option's type."""
    option = "generator:leaky.token.deeper=abc123secret"
    done = t2i("generate", "--model", "leaky:a", "--prompts", "prompts.txt", "-o", option)
    assert done.returncode == 6, done.stderr
    assert b"abc123secret" not in done.stdout + done.stderr
