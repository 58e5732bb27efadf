"""Many people vote at once, and the server is killed in the middle: is any vote lost, or there twice?

    python plugins/people/benchmarks/voters.py RUN [VOTERS] [SECONDS]

RUN is a run's folder with images of several models. Each voter is a browser without scripts: it loads the page and
its images, answers, follows to the next page, and where a connection breaks sends the same form again, as a reload
does.
Half way the server is killed (SIGKILL) and started anew. In the end the file of votes is compared with what each
voter was told.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

PATIENCE = 60
"""Seconds after which a half ends however few votes there are."""

VERDICTS = ("left", "right", "tie", "both-bad")


class ServerProcess:
    """`t2i people serve` in its own process."""

    def __init__(self, run: Path, votes: Path, files: int | None = None) -> None:
        """Start the command. files: how many file descriptors it may have at most."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._command = [sys.executable, "-m", "t2i_cli", "people", "serve", str(run), "--votes", str(votes)]
        self._command += ["--port", str(self.port), "--fastest", "0"]
        if files is not None:
            self._command = ["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh", *self._command]
        self.start()

    def start(self) -> None:
        """Start it, and wait until it says its link."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("http://"), "the server did not start"

    def end(self, how: signal.Signals) -> int:
        """Send a signal and wait."""
        self.process.send_signal(how)
        return self.process.wait()


@dataclass
class Voter:
    """One who votes until told to stop.

    told: verdicts by task of which a page has said that they are saved
    sent: the one that is on its way, of which no page has said so yet
    """

    name: str
    port: int
    stop: threading.Event
    told: dict[str, str] = field(default_factory=dict)
    sent: tuple[str, str] | None = None
    faults: list[str] = field(default_factory=list)
    retries: int = 0
    waits: list[float] = field(default_factory=list)

    def vote(self) -> None:
        """Join and vote."""
        self._connection: http.client.HTTPConnection | None = None
        self._headers = {"content-type": "application/x-www-form-urlencoded"}
        self._seen: set[str] = set()
        page = self._post("/join", {**_fields(self._ask("GET", "/")), "name": self.name})
        while not self.stop.is_set() and 'action="/vote"' in page:
            fields = _fields(page)
            for image in set(re.findall(r'src="(/image/[\w-]+)"', page)) - self._seen:
                self._seen.add(image)
                self._ask("GET", image)
            self.sent = fields["task"], random.choice(VERDICTS)
            started = time.monotonic()
            page = self._post("/vote", {**fields, "preference": self.sent[1]})
            if not page:
                return  # stopped while it was on its way
            self.waits.append(time.monotonic() - started)
            if self.sent[0] in self.told:
                self.faults.append(f"{self.name}: was asked {self.sent[0]} again")
            self.told[self.sent[0]] = self.sent[1]
            self.sent = None
            saved = re.search(r"(\d+) votes? saved", page)
            if saved is None or int(saved[1]) != len(self.told):
                self.faults.append(f"{self.name}: {len(self.told)} votes, told {saved and saved[0]}")

    def _post(self, path: str, data: dict[str, str]) -> str:
        self._ask("POST", path, urlencode(data))
        return self._ask("GET", "/")

    def _ask(self, method: str, path: str, body: str | None = None) -> str:
        """Ask until there is an answer; an empty text where the end comes before."""
        while True:
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                self._connection.request(method, path, body, self._headers)
                answer = self._connection.getresponse()
                text = answer.read().decode("latin-1")
            except (OSError, http.client.HTTPException):
                self._connection = None
                self.retries += 1
                if self.stop.is_set():
                    return ""
                time.sleep(0.1)
                continue
            if cookie := answer.headers.get("set-cookie"):
                self._headers["cookie"] = cookie.partition(";")[0]
            if answer.status not in (200, 303):
                self.faults.append(f"{self.name}: {method} {path} gave {answer.status}")
            return text


def _fields(page: str) -> dict[str, str]:
    """The hidden fields of the page's vote, or of the only form."""
    form = re.search(r'<form method="post" action="/(?:vote|join)".*?</form>', page, re.DOTALL)
    assert form, f"no form in {page[:300]!r}"
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form[0]))


def storm(run: Path, votes: Path, voters: int, seconds: float, least: int = 0) -> dict[str, float]:
    """Have people vote, with a kill in the middle. Returns what was counted; `faults` must be 0.

    seconds: that it lasts, and longer on a slow machine until there are `least` votes before the kill and after it
    """
    server = ServerProcess(run, votes)
    stop = threading.Event()
    people = [Voter(f"voter {number}", server.port, stop) for number in range(voters)]
    threads = [threading.Thread(target=person.vote, daemon=True) for person in people]
    for thread in threads:
        thread.start()
    _wait(people, seconds / 2, least)
    server.end(signal.SIGKILL)
    down = time.monotonic()
    server.start()
    down = time.monotonic() - down
    _wait(people, seconds / 2, least)
    stop.set()
    for thread in threads:
        thread.join(timeout=120)
    code = server.end(signal.SIGINT)
    faults = [fault for person in people for fault in person.faults]
    faults += [f"{t.name} hangs" for t in threads if t.is_alive()]
    faults += [] if code == 0 else [f"the server ended with {code}"]
    faults += compare(votes, people)
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    waits = sorted(wait for person in people for wait in person.waits)
    told = sum(len(person.told) for person in people)
    return {
        "voters": voters,
        "votes": told,
        "votes a second": told / seconds,
        "median wait": waits[len(waits) // 2] if waits else float("nan"),
        "99th wait": waits[int(len(waits) * 0.99)] if waits else float("nan"),
        "seconds down": down,
        "sent again": sum(person.retries for person in people),
        "on their way at the end": sum(person.sent is not None for person in people),
        "faults": len(faults),
    }


def _wait(people: Sequence[Voter], seconds: float, least: int) -> None:
    begun, before = time.monotonic(), sum(len(person.told) for person in people)
    while (lasted := time.monotonic() - begun) < seconds or (
        lasted < PATIENCE and sum(len(person.told) for person in people) - before < least
    ):
        time.sleep(0.05)


def compare(votes: Path, people: Sequence[Voter]) -> list[str]:
    """Return the differences between the file and what people were told."""
    with sqlite3.connect(votes) as database:
        rows = database.execute(
            "select name, tasks.id, answers, min(left_model, right_model), max(left_model, right_model), prompt, "
            "seeds from votes join tasks on tasks.id = task join annotators on annotators.id = annotator "
            "where undone is null"
        ).fetchall()
    faults, kept, items = [], {person.name: {} for person in people}, set()
    for name, task, answers, *item in rows:
        if task in kept[name] or (name, *item) in items:
            faults.append(f"{name}: two votes on {task}")
        kept[name][task] = json.loads(answers)["preference"]
        items.add((name, *item))
    for person in people:
        on_its_way = dict([person.sent] if person.sent else [])
        for task, verdict in person.told.items():
            if kept[person.name].get(task) != verdict:
                faults.append(
                    f"{person.name}: {verdict} on {task} was saved; kept is {kept[person.name].get(task)}"
                )
        for task, verdict in kept[person.name].items():
            if task not in person.told and on_its_way.get(task) != verdict:
                faults.append(f"{person.name}: {verdict} on {task} is kept, and was never sent")
    return faults


if __name__ == "__main__":
    folder, *numbers = sys.argv[1:]
    count, lasting = [*map(float, numbers), *(100, 30)[len(numbers) :]]
    with tempfile.TemporaryDirectory() as scratch:
        found = storm(Path(folder), Path(scratch) / "votes.sqlite", int(count), lasting)
    for key, value in found.items():
        print(f"{key}: {value:.3g}" if isinstance(value, float) else f"{key}: {value}")
    sys.exit(1 if found["faults"] else 0)
