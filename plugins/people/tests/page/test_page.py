"""The page, by its requests and answers."""

from __future__ import annotations

import io
import re
import sqlite3
from collections import Counter
from html import unescape

import pytest
from PIL import Image as PILImage
from PIL.PngImagePlugin import PngInfo
from starlette.testclient import TestClient
from t2i_core.api.image import load_image
from t2i_core.files.image_file import DamagedImage
from t2i_core.io.answer_database import read_database
from t2i_core.io.rater_rules import Rules
from t2i_people.page import pictures
from t2i_people.page.annotator_progress import ROUNDS
from t2i_people.page.guard import Access
from t2i_people.page.pictures import Shelf, StudyPicture
from t2i_people.page.questions import better
from t2i_web_support.guard import HEADERS

LOCAL = "http://127.0.0.1:8765"


@pytest.fixture
def page(open_study):
    """A study of two models, four prompts and two seeds."""
    return open_study()


def answers(study):
    return [(vote.rater, vote.prompt, vote.answer) for vote in read_database(study.store.path)[0]]


def test_a_session_from_the_name_to_the_end(page, voter):
    study, app = page
    ann = voter(app)
    assert ann.saved == "0 votes saved"
    for number, verdict in enumerate(("left", "right", "tie", "both-bad") * 2, 1):
        text = ann.vote(verdict)
        assert ann.saved == f"{number} vote{'s' if number > 1 else ''} saved"
    assert "that was all" in text
    assert Counter(verdict for _, _, verdict in answers(study)) == dict.fromkeys(
        ("left", "right", "tie", "both-bad"), 2
    )
    assert Counter(prompt for _, prompt, _ in answers(study)) == dict.fromkeys(("p1", "p2", "p3", "p4"), 2)


def test_models_are_hidden_and_sides_random(page, voter):
    study, app = page
    ann = voter(app)
    for _ in range(8):
        assert not re.search("apple|pear|painter|00000", ann.page.text)
        ann.vote()
    sides = [vote.shown[0].model for vote in read_database(study.store.path)[0]]
    assert set(sides) == {"apple", "pear"}


def test_sides_and_order_are_each_annotators_own_and_repeatable(open_study, tmp_path, voter):
    orders = []
    for votes in ("one", "two"):
        study, app = open_study(votes=tmp_path / votes)
        for name in ("Ann", "Bob"):
            one = voter(app, name)
            for _ in range(8):
                one.vote()
        orders.append([(v.rater, v.shown, v.prompt) for v in read_database(study.store.path)[0]])
    assert orders[0] == orders[1]
    of_ann, of_bob = ([order[1:] for order in orders[0] if order[0] == name] for name in ("Ann", "Bob"))
    assert of_ann != of_bob
    seen = [{(frozenset(shown), prompt) for shown, prompt in own} for own in (of_ann, of_bob)]
    assert seen[0] == seen[1]


def test_undo_asks_the_same_again(page, voter):
    study, app = page
    ann = voter(app)
    first = ann.form()["task"]
    ann.vote("left")
    second = ann.form()["task"]
    ann.undo()
    assert (ann.saved, ann.form()["task"]) == ("0 votes saved", first)
    ann.vote("right")
    assert ann.form()["task"] == second
    assert [verdict for *_, verdict in answers(study)] == ["right"]


def test_undo_reaches_back_step_by_step_and_never_twice_at_once(page, voter):
    _, app = page
    ann = voter(app)
    for _ in range(3):
        ann.vote()
    form = ann.form("/undo")
    for _ in range(2):  # a double click
        ann.page = ann.client.post("/undo", data=form)
        assert ann.saved == "2 votes saved"
    ann.undo()
    assert ann.saved == "1 vote saved"


def test_votes_sent_twice_count_once(page, voter):
    study, app = page
    ann = voter(app)
    form = {**ann.form(), "preference": "left"}
    for _ in range(3):
        ann.page = ann.client.post("/vote", data=form)
        assert ann.saved == "1 vote saved"
    # the back button, and another answer
    ann.page = ann.client.post("/vote", data={**form, "preference": "right"})
    assert "your first answer stays" in ann.page.text
    assert [verdict for *_, verdict in answers(study)] == ["left"]


def test_a_reload_shows_the_same_task(page, voter):
    _, app = page
    ann = voter(app)
    ann.vote()
    before = ann.form()
    ann.look()
    assert ann.form() == before


def test_votes_of_two_annotators_are_their_own(page, voter):
    study, app = page
    ann, bob = voter(app, "Ann"), voter(app, "Bob")
    task = ann.form()["task"]
    stolen = bob.client.post("/vote", data={**bob.form(), "task": task, "preference": "left"})
    assert "nothing was saved" in stolen.text
    assert answers(study) == []
    ann.vote("left")
    bob.look()
    bob.vote("right")
    assert {(name, verdict) for name, _, verdict in answers(study)} == {("Ann", "left"), ("Bob", "right")}


def test_a_server_that_starts_again_goes_on(open_study, tmp_path, voter):
    study, app = open_study()
    ann = voter(app)
    ann.vote()
    before, cookies = ann.form(), dict(ann.client.cookies)
    study.store.close()
    other, app = open_study(votes=moved(tmp_path))
    again = TestClient(app, base_url=LOCAL, cookies=cookies)
    assert voter.fields(again.get("/").text, "/vote") == before
    assert other.store.count() == 1


def moved(folder):
    """The file of votes under another name, for the first server still holds its own."""
    return (folder / "votes.sqlite").rename(folder / "moved.sqlite")


# the form -----------------------------------------------------------------------------------------------------


def test_headers_are_strict_everywhere(page):
    _, app = page
    client = TestClient(app, base_url=LOCAL)
    for path in ("/", "/page.css", "/keys.js", "/gone", "/image/gone", "/as/gone"):
        answer = client.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path
        assert "unsafe" not in answer.headers["content-security-policy"]
    assert client.get("/").headers["cache-control"] == "no-store"
    assert client.put("/vote").status_code == 405
    assert client.get("/vote").status_code == 405


def test_pages_have_no_inline_scripts_or_styles_and_no_foreign_addresses(page, voter):
    _, app = page
    text = voter(app).page.text
    assert re.findall(r"<script[^>]*>", text) == ['<script src="/keys.js" defer>']
    assert not re.search(r"style=|<style|\son\w+=|https?:|javascript:", text)


def test_every_image_has_a_text_and_every_field_a_label(page, voter):
    _, app = page
    ann = voter(app)
    images = re.findall(r"<img [^>]*>", ann.page.text)
    assert len(images) == 2
    assert all(re.search(r'alt="(First|Second): image for [^"]+" ?>', image) for image in images)
    assert '<html lang="en">' in ann.page.text
    joining = TestClient(app, base_url=LOCAL).get("/").text
    assert '<label for="name">' in joining


def test_hostile_texts_are_shown_as_text(open_study, make_run, voter, hostile):
    _, app = open_study(make_run(prompts=hostile))
    name = '<b onclick="x()">"Ann\'s\u202e {{ 1 }}'
    ann = voter(app, name)
    shown = []
    for _ in range(8):
        text = ann.page.text
        assert not re.search(r"<b |<script>|onerror=\"|\u202e|\x07", text)
        assert "&lt;b onclick=&#34;x()&#34;&gt;&#34;Ann&#39;s\\u202e {{ 1 }}" in text
        shown.append(unescape(re.search(r'<p class="prompt" dir="auto">(.*?)</p>', text, re.DOTALL)[1]))
        ann.vote()
    assert set(shown) == {
        hostile["p1"],
        hostile["p2"].replace("\u202e", "\\u202e").replace("\u202c", "\\u202c"),
        hostile["p3"].replace("\x07", "\\x07"),
        hostile["p4"],
    }


def test_images_are_pixels_alone(tmp_path):
    """Files of generators may say in their metadata which model made them."""
    note = PngInfo()
    note.add_text("parameters", "model: apple")
    kept = PILImage.linear_gradient("L").convert("RGB")
    kept.save(tmp_path / "apple.png", pnginfo=note)
    picture = StudyPicture("apple", "p", 0, load_image(tmp_path / "apple.png"), kept.size)
    sent = Shelf({"id": picture}).png("id")
    assert b"apple" in picture.image.path.read_bytes()
    assert b"apple" not in sent
    with PILImage.open(io.BytesIO(sent)) as found:
        assert (found.tobytes(), found.info) == (kept.tobytes(), {})


def test_images_that_were_sent_are_kept_up_to_a_size(tmp_path, monkeypatch):
    for number in range(4):
        PILImage.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / f"{number}.png")
    files = {str(i): StudyPicture("m", "p", i, load_image(tmp_path / f"{i}.png"), (8, 8)) for i in range(4)}
    shelf = Shelf(files)
    monkeypatch.setattr(pictures, "KEPT", 2 * len(shelf.png("0")) + 10)
    for id in files:
        shelf.png(id)
    (tmp_path / "0.png").unlink()
    (tmp_path / "3.png").unlink()
    assert shelf.png("3")
    with pytest.raises(DamagedImage, match=r"0\.png"):
        shelf.png("0")


@pytest.mark.parametrize(
    "path",
    [
        "/image/../../etc/passwd", "/image/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/image//etc/passwd", "/../app.py",
        "/image/", "/templates/base.html", "/static/keys.js", "/votes.sqlite", "//etc/passwd",
    ],
)  # fmt: skip
def test_no_path_reaches_a_file(page, path, voter):
    _, app = page
    ann = voter(app)
    answer = ann.client.get(path)
    assert answer.status_code == 404
    assert "There is nothing here." in answer.text


def test_visitors_who_have_not_joined_see_no_image(page, voter):
    _, app = page
    id = re.search(r'src="/image/([\w-]+)"', voter(app).page.text)[1]
    assert TestClient(app, base_url=LOCAL).get(f"/image/{id}").status_code == 404


def test_answers_that_are_none_are_not_saved(page, voter):
    study, app = page
    ann = voter(app)
    form = ann.form()
    for fault in ({}, {"preference": "best"}, {"preference": ""}):
        answer = ann.client.post("/vote", data={**form, **fault})
        assert (answer.status_code, "Nothing was saved" in answer.text) == (400, True)
    assert "out of date" in ann.client.post("/vote", data={**form, "task": "gone", "preference": "left"}).text
    assert answers(study) == []


def test_a_name_is_wanted(page, voter):
    _, app = page
    client = TestClient(app, base_url=LOCAL)
    form = voter.fields(client.get("/").text, "/join")
    for name in ("", "   ", "x" * 61):
        answer = client.post("/join", data={**form, "name": name})
        assert (answer.status_code, "Please give a name" in answer.text) == (400, True)


def test_a_name_is_kept_as_tables_can_hold_it(page, voter):
    study, app = page
    voter(app, " A\0n\tn\u202e ")
    assert [annotator.name for annotator in study.store.annotators()] == ["A\\x00n n\\u202e"]


# whose requests are heard -------------------------------------------------------------------------------------


def test_forms_of_other_sites_are_refused(page, voter):
    study, app = page
    ann = voter(app)
    form = {**ann.form(), "preference": "left"}
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        assert ann.client.post("/vote", data=form, headers=headers).status_code == 403
    for token in ("", "0" * 64):
        assert ann.client.post("/vote", data={**form, "form": token}).status_code == 403
    assert answers(study) == []
    for headers in ({"origin": LOCAL}, {"origin": "null", "sec-fetch-site": "same-origin"}, {}):
        assert ann.client.post("/vote", data=form, headers=headers).status_code == 200
    assert len(answers(study)) == 1


def test_the_form_of_another_annotator_is_refused(page, voter):
    study, app = page
    ann, bob = voter(app, "Ann"), voter(app, "Bob")
    answer = ann.client.post("/vote", data={**ann.form(), "form": bob.form()["form"], "preference": "left"})
    assert (answer.status_code, answers(study)) == (403, [])


def test_the_cookie_is_out_of_reach(page, voter):
    _, app = page
    client = TestClient(app, base_url=LOCAL, follow_redirects=False)
    answer = client.post("/join", data={**voter.fields(client.get("/").text, "/join"), "name": "Ann"})
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=lax" in said


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", ""])
def test_a_name_that_was_led_here_is_refused(page, host):
    _, app = page
    answer = TestClient(app, base_url=LOCAL).get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "prompt" not in answer.text


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8765", "localhost"])
def test_this_machine_is_known_by_its_names(page, host):
    _, app = page
    assert TestClient(app, base_url=LOCAL).get("/", headers={"host": host}).status_code == 200


def test_beyond_this_machine_a_link_is_wanted(open_study, voter):
    study, app = open_study(access=Access("secret", invitation="open-sesame"))
    stranger = TestClient(app, base_url="http://arena.example")
    for path in ("/", "/join/guess", "/as/guess"):
        answer = stranger.get(path)
        assert (answer.status_code, "<form" in answer.text) == (403, False)
    assert stranger.post("/join", data={"name": "Eve", "form": ""}).status_code == 403
    form = voter.fields(stranger.get("/join/open-sesame").text, "/join")
    assert "votes saved" in stranger.post("/join", data={**form, "name": "Ann"}).text
    # nobody takes another's place by name
    other = TestClient(app, base_url="http://arena.example")
    form = voter.fields(other.get("/join/open-sesame").text, "/join")
    assert other.post("/join", data={**form, "name": "Ann"}).status_code == 409
    # but each annotator has a different link
    ann = study.store.annotator(next(a.token for a in study.store.annotators()))
    assert "votes saved" in other.get(f"/as/{ann.token}").text


def test_behind_another_server_only_its_name_counts(open_study, voter):
    _, app = open_study(access=Access("secret", "open", "https://vote.example"))
    client = TestClient(app, base_url="https://vote.example", follow_redirects=False)
    assert client.get("/join/open").status_code == 200
    assert client.get("/join/open", headers={"host": "127.0.0.1"}).status_code == 421
    form = voter.fields(client.get("/join/open").text, "/join")
    headers = {"origin": "https://vote.example"}
    answer = client.post("/join", data={**form, "name": "Ann"}, headers=headers)
    assert "secure" in answer.headers["set-cookie"].lower()


def test_a_body_without_end_is_refused(page, voter):
    _, app = page
    ann = voter(app)
    answer = ann.client.post("/vote", data={**ann.form(), "preference": "left", "more": "x" * 20_000})
    assert answer.status_code == 413
    many = "&".join(f"f{i}=1" for i in range(100))
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert ann.client.post("/vote", content=many, headers=headers).status_code == 403


def test_browsers_forget_annotators_who_leave(page, voter):
    _, app = page
    ann = voter(app)
    ann.client.post("/leave", data=ann.form("/leave"))
    assert "Your name" in ann.look()


def own_link(ann):
    return re.search(r'href="(/as/[\w-]+)"', ann.page.text)[1]


@pytest.mark.parametrize("left", [False, True], ids=["in another browser", "after leaving"])
def test_on_this_machine_too_a_taken_name_needs_its_link(page, voter, left):
    study, app = page
    ann = voter(app)
    ann.vote("left")
    link = own_link(ann)
    if left:
        ann.client.post("/leave", data=ann.form("/leave"))
    other = voter(app) if not left else ann
    other.look()
    other.page = other.client.post("/join", data={**other.form("/join"), "name": " Ann "})
    assert other.page.status_code == 409
    assert other.page.text.count("This name is taken. If it is yours, open your personal link") == 1
    assert other.client.post("/vote", data={"task": "1", "preference": "right"}).status_code == 403
    assert [annotator.name for annotator in study.store.annotators()] == ["Ann"]
    assert [verdict for *_, verdict in answers(study)] == ["left"]
    other.page = other.client.get(link)
    assert other.saved == "1 vote saved"
    other.vote("right")
    assert [(name, verdict) for name, _, verdict in answers(study)] == [("Ann", "left"), ("Ann", "right")]


def test_a_joining_form_that_is_sent_twice_lets_its_sender_in(page, voter):
    """By a double click, or because the connection broke before the answer."""
    study, app = page
    client = TestClient(app, base_url=LOCAL, follow_redirects=False)
    form = {**voter.fields(client.get("/").text, "/join"), "name": "Ann"}
    for _ in range(2):
        answer = client.post("/join", data=form)
        client.cookies.clear()
        assert (answer.status_code, "t2i-arena" in answer.headers["set-cookie"]) == (303, True)
    assert client.post("/join", data={**form, "newcomer": ""}).status_code == 409
    assert client.post("/join", data={**form, "newcomer": "guess"}).status_code == 409
    assert client.post("/join", data={**form, "name": "Bob"}).status_code == 303
    assert [annotator.name for annotator in study.store.annotators()] == ["Ann", "Bob"]


def test_annotators_from_before_links_can_continue(page, voter):
    """Annotators in a file of votes of an earlier version have a random token, which their browsers hold."""
    study, app = page
    old = study.store.add_annotator("Ann")
    (cookie,) = voter(app, "Bob").client.cookies
    assert "Voting as <bdi>Ann</bdi>" in TestClient(app, base_url=LOCAL, cookies={cookie: old.token}).get("/").text
    assert "Voting as <bdi>Ann</bdi>" in TestClient(app, base_url=LOCAL).get(f"/as/{old.token}").text
    assert voter(app, "Ann").page.status_code == 409


# quality ------------------------------------------------------------------------------------------------------


def expected(study, id):
    return study.store.task(1, id).expected["preference"]


WRONG = {"left": "right", "right": "left"}


def test_training_tells_what_was_right_and_must_be_passed(open_study, voter):
    study, app = open_study(rules=Rules(fastest=0, training=4))
    ann = voter(app)
    assert ann.saved == "Training"
    for right in (True, False, False, True):  # half: not enough
        answer = expected(study, ann.form()["task"])
        text = ann.vote(answer if right else WRONG[answer])
        assert ("As expected." in text, "Not as expected" in text) == (right, not right)
        assert 'action="/undo"' not in text
    assert ann.saved == "Training"
    for _ in range(4):
        ann.vote(expected(study, ann.form()["task"]))
    assert ann.saved == "0 votes saved"
    ann.vote()
    assert ann.saved == "1 vote saved"


def test_annotators_who_fail_training_too_often_are_stopped(open_study, voter):
    study, app = open_study(rules=Rules(fastest=0, training=2))
    ann = voter(app)
    for _ in range(2 * ROUNDS):
        ann.vote(WRONG[expected(study, ann.form()["task"])])
    assert "The training was not passed" in ann.page.text
    assert "The training was not passed" in ann.look()


def controls(study, form):
    return study.store.task(1, form["task"]).part == "control"


def test_controls_look_like_votes_and_stop_who_does_not_look(open_study, voter):
    study, app = open_study(rules=Rules(fastest=0, controls=2), run=None)
    ann = voter(app)
    parts = []
    while 'action="/vote"' in ann.page.text:
        parts.append(controls(study, ann.form()))
        assert "xpected" not in ann.page.text
        ann.vote(WRONG[expected(study, ann.form()["task"])] if parts[-1] else "tie")
    assert sum(parts) == 5
    assert all(sum(parts[i : i + 2]) == 1 for i in range(0, len(parts) - 1, 2))
    assert "Too many of the questions" in ann.page.text
    assert 'action="/undo"' not in ann.page.text


def test_annotators_who_pass_controls_reach_the_end(open_study, voter):
    study, app = open_study(rules=Rules(fastest=0, controls=2))
    ann = voter(app)
    while 'action="/vote"' in ann.page.text:
        control = controls(study, ann.form())
        ann.vote(expected(study, ann.form()["task"]) if control else "tie")
    assert "that was all" in ann.page.text
    assert sum(vote.part == "answer" for vote in read_database(study.store.path)[0]) == 8


def test_quick_votes_are_warned_of_and_then_stopped(open_study, make_run, voter):
    _, app = open_study(make_run(seeds=range(4)), rules=Rules(fastest=30))
    ann = voter(app)
    for _ in range(9):
        assert "answers within 30 s do not count" in ann.vote()
    assert "too many answers came too quickly" in " ".join(ann.vote().split())


def test_the_last_vote_too_is_warned_of_when_it_was_quick(open_study, voter):
    _, app = open_study(rules=Rules(fastest=30, tasks=1))
    said = voter(app).vote()
    assert "that was all" in said
    assert "answers within 30 s do not count" in said


def test_a_session_may_have_a_limited_number_of_tasks(open_study, voter):
    _, app = open_study(rules=Rules(fastest=0, tasks=3))
    ann = voter(app)
    for _ in range(3):
        ann.vote()
    assert ann.saved == "3 votes saved of 3"
    assert "that was all" in ann.page.text
    ann.undo()
    assert ann.saved == "2 votes saved of 3"
    ann.vote()
    assert "that was all" in ann.page.text


# grids and questions ------------------------------------------------------------------------------------------


def test_two_grids_for_diversity(open_study, make_run, voter):
    study, app = open_study(make_run(seeds=range(4)), grid=4)
    ann = voter(app)
    assert re.findall(r'class="grid across-2" role="group" aria-label="(\w+)"', ann.page.text) == [
        "First",
        "Second",
    ]
    assert len(set(re.findall(r'<img src="/image/([\w-]+)"', ann.page.text))) == 8
    assert 'alt="Second, 4 of 4: image for' in ann.page.text
    ann.vote()
    assert [vote.shown[0].seeds for vote in read_database(study.store.path)[0]] == [(0, 1, 2, 3)]


GROUPS = {"gender": ("male", "female"), "race": ("White", "Black", "Hispanic", "Asian")}


def test_questions_about_people_in_images(open_study, make_run, voter):
    study, app = open_study(make_run(models=("apple",)), groups=GROUPS, grid=9)
    ann = voter(app)
    assert len(set(re.findall(r'<img src="/image/([\w-]+)"', ann.page.text))) == 2
    assert ann.page.text.count("<fieldset") == 3
    first = ann.form()
    ann.page = ann.client.post("/vote", data={**first, "human": "yes", "gender": "female", "race": "cannot-tell"})
    assert ann.saved == "1 vote saved"
    ann.page = ann.client.post("/vote", data={**ann.form(), "human": "no"})
    assert ann.saved == "2 votes saved"
    assert ann.client.post("/vote", data={**ann.form(), "human": "yes"}).status_code == 400
    said = [(answer.question, answer.answer) for answer in read_database(study.store.path)[0]]
    assert said == [("gender", "female"), ("human", "yes"), ("race", "cannot-tell"), ("human", "no")]


def test_an_image_that_is_damaged_meanwhile_is_left_out(open_study, make_run, capsys, voter):
    study, app = open_study(make_run())
    ann = voter(app)
    broken = {}
    for _ in range(2):  # the one that is shown now, after a restart of the browser, and one that is to come
        ids = re.findall(r'<img src="/image/([\w-]+)"', ann.page.text)
        broken[study.shelf[ids[0]].prompt] = study.shelf[ids[0]]
        ann.vote()
    victim = next(p for p in study.shelf._pictures.values() if p.prompt not in broken)
    victim.image.path.unlink()
    victim.image.path.write_bytes(b"no image")
    while 'action="/vote"' in ann.page.text:
        ann.vote()
    assert ann.saved == "7 votes saved"
    assert victim.image.path.name in capsys.readouterr().out
    assert all((victim.prompt, victim.seed) != (v.prompt, v.seed) for v in read_database(study.store.path)[0])


def test_the_question_is_the_users(open_study, voter):
    _, app = open_study(question="Which <i>owl</i> is wiser?")
    assert "Which &lt;i&gt;owl&lt;/i&gt; is wiser?" in voter(app).page.text
    assert better("x")[0].text == "x"


def test_votes_that_cannot_be_written_are_not_reported_as_saved(page, voter, monkeypatch, capsys):
    study, app = page
    ann = voter(app)

    def full(task, answers):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(study.store, "add_vote", full)
        answer = ann.client.post("/vote", data={**ann.form(), "preference": "left"})
    assert (answer.status_code, "Nothing was saved" in answer.text) == (503, True)
    assert "disk is full" in capsys.readouterr().out
    ann.vote()
    assert ann.saved == "1 vote saved"
