"""The search against a server on loopback that answers as Commons does, or as it should not."""

from __future__ import annotations

import io
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from PIL import Image as PILImage
from t2i_arena_elo.analyses import images
from t2i_arena_elo.commons import Commons, Unanswered
from t2i_arena_elo.options import WikimediaOptions
from t2i_arena_elo.plugin import t2i_generators
from t2i_core.api import Failure, ImageRequest, ObjectClass, Prompt, PromptSourceInfo, Scene, SceneObject
from t2i_core.engine.evaluation import evaluate
from t2i_core.testing import TEST_JUDGE, GeneratorContract, StaticResolver
from t2i_core.testing.parts import settle

(INFO,) = t2i_generators()


def png(level):
    file = io.BytesIO()
    PILImage.fromarray(np.full((32, 48, 3), level, np.uint8)).save(file, "PNG")
    return file.getvalue()


class Server(ThreadingHTTPServer):
    """Has a picture for every word but `nothing`, of animals the same; what it `says` goes before."""

    def __init__(self):
        self.says = []
        self.asked = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/w/api.php"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.server.asked.append((parts.path, asked, self.headers["User-Agent"]))
        if self.server.says:
            status, headers, body = self.server.says.pop(0)
            if status is None:
                time.sleep(body)
                return
            self.answer(status, headers, body)
        elif parts.path.startswith("/file/"):
            self.answer(200, {}, png(int(parts.path.rpartition("/")[2])))
        else:
            self.answer(200, {}, json.dumps(self.found(asked)).encode())

    def found(self, asked):
        word, place = asked["gsrsearch"].removeprefix("filetype:bitmap "), int(asked["gsroffset"])
        if "nothing" in word or place > 1:
            return {"batchcomplete": True}
        level = 100 if word in ("cat", "dog") else len(word)
        url = f"http://127.0.0.1:{self.server.server_port}/file/{level + place}"
        info = {
            "thumburl": url, "url": "http://127.0.0.1:9/original", "descriptionurl": f"https://x/{word}",
            "sha1": f"{level}",
            "extmetadata": {"LicenseShortName": {"value": "CC0"}, "Artist": {"value": "<b>A</b>"}},
        }  # fmt: skip
        return {"query": {"pages": [{"title": f"File:{word}.png", "imageinfo": [info]}]}}

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server():
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def generate(server):
    def generate(word, seed=0, text="a text", **options):
        prompt = Prompt("p", text, scene=Scene((SceneObject(ObjectClass(word)),)) if word else None)
        settled = settle(INFO, {"server": server.address, "contact": "me@x.org", **options}, None)
        ((_, answer),) = settled.info.create(settled.setup()).generate([ImageRequest(prompt, seed, seed)])
        return answer

    return generate


def test_the_first_picture_is_taken_with_its_licence(server, generate):
    found = generate("cat")
    assert (found.image == 100).all()
    assert found.record == {
        "searched": "cat", "title": "File:cat.png", "page": "https://x/cat", "sha1": "100", "licence": "CC0",
        "author": "<b>A</b>",
    }  # fmt: skip
    (search, file) = server.asked
    assert search[1]["gsrnamespace"] == "6"
    assert search[1]["iiurlwidth"] == "1024"
    assert {agent for *_, agent in (search, file)} == {"t2i-arena-elo/0.1 (me@x.org)"}


def test_a_seed_is_a_place_among_the_hits(generate):
    assert (generate("cat", seed=1).image == 101).all()
    assert generate("cat", seed=2).missing


def test_words_are_the_objects_or_the_text(server, generate):
    generate(None, text="hello")
    generate("cat", text="hello", search="text")
    assert [asked["gsrsearch"] for path, asked, _ in server.asked if asked] == ["filetype:bitmap hello"] * 2


def test_nothing_found_is_missing_and_no_failure_of_work(generate):
    found = generate("nothing")
    assert isinstance(found, Failure)
    assert found.missing
    assert "search for 'nothing' has no result" in found.reason


BUSY = {
    "too many": (429, {"Retry-After": "7"}, b""),
    "unavailable": (503, {}, b""),
    "lag": (200, {}, b'{"error": {"code": "maxlag", "info": "Waiting for a database"}}'),
    "cut off": (200, {"Content-Length": "999999"}, b"{"),
}


@pytest.mark.parametrize("name", BUSY)
def test_a_busy_server_is_asked_again_later(server, name):
    waited = []
    commons = Commons(server.address, "me", 0.5, 2, waited.append)
    server.says = [BUSY[name]]
    assert commons.search("cat", 0, 1024).title == "File:cat.png"
    assert waited == [7.0 if name == "too many" else 1.0]


def test_one_that_does_not_answer_is_given_up_in_one_line(server):
    waited = []
    commons = Commons(server.address, "me", 0.05, 2, waited.append)
    server.says = [(None, {}, 0.3)] * 3
    with pytest.raises(Unanswered, match=r"127\.0\.0\.1 gave no answer in 3 tries \(.*timed out"):
        commons.search("cat", 0, 1024)
    assert waited == [1.0, 2.0]


WRONG = {
    "gone": ((404, {}, b""), "404"),
    "no JSON": ((200, {}, b"<html>"), "not JSON"),
    "no object": ((200, {}, b"[]"), "not a JSON object"),
    "too deep": ((200, {}, b"[" * 200_000), "not JSON"),
    "another form": ((200, {}, b'{"query": []}'), "unexpected form"),
    "another form of a file": ((200, {}, b'{"query": {"pages": {"7": {}}}}'), "no field 0"),
    "refused": ((200, {}, b'{"error": {"code": "badvalue", "info": "Bad value"}}'), "error: Bad value"),
    "no picture": ((200, {}, b'{"query": {"pages": [{"title": "x"}]}}'), "no field 'imageinfo'"),
    "a file of mine": (
        (200, {}, b'{"query": {"pages": [{"title": "x", "imageinfo": [{"url": "file:///etc/hostname"}]}]}}'),
        "not an http",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_of_no_use_is_a_failure(server, generate, name):
    server.says = [WRONG[name][0]]
    found = generate("cat")
    assert isinstance(found, Failure)
    assert not found.missing
    assert WRONG[name][1] in found.reason


def test_a_file_that_is_not_an_image_is_a_failure(server, generate):
    page = {"title": "x", "imageinfo": [{"url": f"http://127.0.0.1:{server.server_port}/text"}]}
    server.says = [(200, {}, json.dumps({"query": {"pages": [page]}}).encode()), (200, {}, b"no picture")]
    assert "not an image" in generate("cat").reason


@pytest.mark.parametrize("wrong", [{"server": "file:///x"}, {"contact": ""}, {"contact": "a\nb"}])
def test_options_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be an .*address"):
        WikimediaOptions(**wrong)


def test_misses_and_duplicates_are_counted_in_a_run(server, tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    words = ("cat", "dog", "nothing", "house")
    source = PromptSourceInfo(
        name="words",
        summary="W.",
        prompts=lambda setup: [Prompt(w, w, scene=Scene((SceneObject(ObjectClass(w)),))) for w in words],
    )
    from t2i_arena_elo.plugin import t2i_metrics

    run = evaluate(
        t2i_metrics()[1], INFO, prompts="words", seeds=1, out=tmp_path / "run",
        options={"wikimedia": {"server": server.address}}, resolver=StaticResolver(TEST_JUDGE, source),
    )  # fmt: skip
    (result,) = run.results
    assert (result.n_ok, result.n_missing, result.n_failed) == (3, 1, 0)
    (line,) = images(run.samples()).to_dict("records")
    assert line == {
        "model": "wikimedia",
        "images": 3,
        "failed": 0,
        "missing": 1,
        "distinct": 2,
        "reused": 1,
        "shared": 2,
    }


class TestWikimedia(GeneratorContract):
    module, name = "t2i_arena_elo.plugin", "wikimedia"

    @pytest.fixture
    def component(self, info, server):
        return settle(info, {"server": server.address, "retries": 0}, None)  # it answers, or never will


def test_how_long_it_waits_changes_no_image():
    (info,) = t2i_generators()
    assert settle(info, {}, None).fingerprint == settle(info, {"timeout": 1}, None).fingerprint
