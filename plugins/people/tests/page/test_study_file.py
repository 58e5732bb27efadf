"""Study files, the studies that come with the package, and their known answers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from t2i_core.api.errors import BadFolder, BadOption, UnknownName
from t2i_core.io.answer_database import read_database
from t2i_core.io.answers import read_answers
from t2i_core.io.rater_rules import Rules
from t2i_people.page.drawings import list_drawings
from t2i_people.page.form_choice import choose_form
from t2i_people.page.instructions import read_instructions
from t2i_people.page.study_file import list_forms, read_form, read_study


def write(tmp_path, text, name="study.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_the_studies_of_the_package():
    forms = {name: read_form(name) for name in list_forms()}
    assert {name: (f.sides, f.grid, f.controls) for name, f in forms.items()} == {
        "caption-similarity": (2, 1, "mismatch"),
        "components": (1, 1, None),
        "diversity": (2, 4, "repeated"),
        "grid": (2, 9, "repeated"),
        "mistakes": (1, 1, None),
        "rating": (1, 1, "mismatch"),
        "yes-no": (1, 1, "mismatch"),
    }
    (rating,) = forms["rating"].questions
    assert [c.value for c in rating.choices] == ["1", "2", "3", "4", "5"]
    assert (rating.mismatch, rating.match, rating.choices[4].label) == (("1", "2"), ("4", "5"), "5 completely")
    (shown,) = forms["yes-no"].questions
    assert [c.value for c in shown.choices] == ["yes", "no", "cannot-tell"]
    names = ["object", "number", "colour", "object A", "object B", "relation"]
    assert [q.name for q in forms["components"].questions] == names
    assert all("none" in {c.value for c in q.choices} for q in forms["components"].questions)


@pytest.mark.parametrize("name", ["caption-similarity", "diversity"])
def test_the_forms_of_the_hypernymy_paper_bring_its_protocol(name):
    form = read_form(name)
    assert [c.value for c in form.questions[0].choices] == ["left", "right", "tie"]
    protocol = form.protocol
    assert (protocol.each, protocol.pairs, protocol.training, protocol.controls) == (5, 20, 5, 5)
    assert protocol.controls_in_a_row == 2
    assert 3 / 5 < protocol.pass_mark <= 4 / 5  # more than 60 % of 5 training tasks
    assert "<h1>" in read_instructions(form.instructions).html
    text = form.instructions.read_text()  # is true of any --grid, --training, --controls and --controls-in-a-row
    assert not re.search(r"(?i)\bfour\b|\btwo such\b|\byou begin with\b|[1-9] (images|tasks)", text)


def test_a_study_file(tmp_path):
    path = write(
        tmp_path,
        """
        sides: 2
        questions:
          - {name: preference, text: "Which?", tie: false, both_bad: false}
          - name: why
            text: Why?
            only_if: {preference: left}
            choices: [colour, {value: shape, label: The shape}]
        instructions: guide.md
        """.replace("name: why", "name: reason"),
    )
    form = read_study(path)
    preference, reason = form.questions
    assert [c.value for c in preference.choices] == ["left", "right"]
    assert (reason.only_if, reason.choices[1].label) == (("preference", "left"), "The shape")
    assert form.instructions == tmp_path / "guide.md"
    assert form.controls is None


def test_the_example_in_the_readme(tmp_path):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    form = read_study(write(tmp_path, readme.split("```yaml\n")[1].split("```")[0]))
    assert [question.name for question in form.questions] == ["preference", "reason", "rating"]
    assert [choice.value for choice in form.questions[1].choices] == ["content", "style", "none", "cannot-tell"]


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_one_answer_to_everything_does_not_pass_training(open_study, answer):
    study, _ = open_study(form=read_form("yes-no"), rules=Rules(fastest=0, training=5, pass_mark=0.61))
    ann = answer_all(study, "Ann", lambda task: {"shown": answer})
    assert study.standing(ann).end == "untrained"


def test_drawings_show_their_prompt():
    for picture in list_drawings(2, (40, 30)):
        pixels = replace(picture.image).pixels.reshape(-1, 3).astype(int)
        assert len(pixels) == 40 * 30
        colour = picture.prompt.split("-")[2]
        strongest = dict(zip(("red", "green", "blue"), pixels[pixels.sum(axis=1).argmin()], strict=True))
        assert max(strongest, key=strongest.get) == colour
        assert 0.03 < (pixels != pixels[0]).any(axis=1).mean() < 0.5


def test_several_choices_are_stored_with_yes_or_no_each(open_study, voter):
    study, app = open_study(form=read_form("mistakes"), rules=Rules(fastest=0))
    ann = voter(app)
    ann.page = ann.client.get("/?read=yes")
    chosen = {"mistakes: text": "yes", "mistakes: monster": "yes"}
    for wrong in ({}, {"mistakes: text": "yes", "mistakes: none": "yes"}, {"mistakes: text": "often"}):
        assert ann.client.post("/vote", data={**ann.form(), **wrong}).status_code == 400
    ann.page = ann.client.post("/vote", data={**ann.form(), **chosen})
    ann.page = ann.client.post("/vote", data={**ann.form(), "mistakes: none": "yes"})
    assert "2 votes saved" in ann.page.text
    answers = read_answers(study.store.path).answers
    names = ["text", "abstract image", "playing card", "ornamental circle", "monster", "none"]
    first, second = ([a for a in answers if a.task == task] for task in dict.fromkeys(a.task for a in answers))
    assert {a.question for a in first} == {f"mistakes: {name}" for name in names}
    assert {a.question for a in first if a.answer == "yes"} == chosen.keys()
    assert {a.question for a in second if a.answer == "yes"} == {"mistakes: none"}
    assert {a.choices for a in answers} == {("yes", "no")}
    assert first[0].text.startswith("Choose all that apply. ")


def test_known_answers_to_several_choices_have_a_column_each(open_study, tmp_path):
    names = ["text", "abstract image", "playing card", "ornamental circle", "monster", "none"]
    columns = ",".join(f"mistakes: {name}" for name in names)
    known = write(tmp_path, f"part,prompt,model,{columns}\ncontrol,p1,apple,yes,no,no,no,yes|no,no\n", "known.csv")
    rules = Rules(fastest=0, controls=2, tasks=2)
    study, _ = open_study(form=choose_form(form="mistakes", known=known), rules=rules)
    answer_all(study, "Ann", lambda task: {"mistakes: text": "yes", "mistakes: monster": "yes"})
    assert study.store.record(1, study.rules).right == 1


QUESTION = "questions: [{name: q, text: Ask, choices: [a, b]"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("grid: 2", "questions: is missing"),
        ("questions: []", "questions: "),
        ("questions: [{name: q, text: Ask}]", "questions.0: needs either choices or a scale"),
        ("questions: [{name: q, text: Ask, choices: [a]}]", "questions.0: needs 2 to 100 choices"),
        ("questions: [{name: q, text: Ask, choices: [a, a]}]", "'a' is listed twice"),
        ("questions: [{name: q, text: Ask, choices: [a, 'b|c']}]", "questions.0.choices.1.value: "),
        ("questions: [{name: task, text: Ask, choices: [a, b]}]", "'task' is reserved"),
        ("questions: [{name: q, text: ' ', choices: [a, b]}]", "questions.0.text: "),
        ("questions: [{name: q, text: Ask, scale: {from: 5, to: 1}}]", "questions.0.scale: from and to"),
        ("questions: [{name: q, text: Ask, scale: {anchors: {7: high}}}]", "7 is not on the scale"),
        ("questions: [{name: preference, text: Ask}]", "sides: the question preference needs 2 sides"),
        ("sides: 2\nquestions: [{name: preference, text: Ask, choices: [a, b]}]", "only tie and both_bad"),
        (QUESTION + ", tie: false}]", "tie and both_bad fit"),
        (QUESTION + ", mismatch: [c]}]", "mismatch: 'c' is not among"),
        (QUESTION + ", match: [c]}]", "match: 'c' is not among"),
        (QUESTION + ", several: true, cannot_tell: true}]", "several: fits choices only"),
        (
            QUESTION + ", several: true}, {name: r, text: Ask more, choices: [a, b], only_if: {q: a}}]",
            "'q' has several answers",
        ),
        (QUESTION + "}]\nprotocol: {pass_mark: 2}", "protocol.pass_mark: "),
        (QUESTION + ", only_if: {r: a}}]", "'r' is not an earlier question"),
        (
            QUESTION + "}, {name: r, text: Ask more, choices: [a, b], only_if: {q: c}}]",
            "'c' is not an answer to 'q'",
        ),
        (QUESTION + "}, {name: q, text: Ask more, choices: [a, b]}]", "'q' is listed twice"),
        (QUESTION + "}]\nsides: 3", "sides: "),
        (QUESTION + "}]\nsize: 3", "size: "),
        (QUESTION + "}]\ncontrols: repeated", "controls: 'repeated' does not fit"),
        ("[", "not YAML"),
    ],
)
def test_faults_of_a_study_file_name_file_and_field(tmp_path, text, fault):
    path = write(tmp_path, text)
    with pytest.raises(BadOption) as caught:
        read_study(path)
    assert fault in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_options_choose_the_form(tmp_path):
    assert choose_form().controls == "mismatch"
    assert choose_form(grid=4).controls == "repeated"
    assert choose_form(form="grid", grid=4).grid == 4
    assert choose_form(people="paper").grid == 9
    asked = choose_form(form="rating", question="How sharp?")
    assert [q.text for q in asked.questions] == ["How sharp?"]
    with pytest.raises(BadOption, match="--form and --people"):
        choose_form(form="pair", people="paper")
    with pytest.raises(BadOption, match="several questions"):
        choose_form(form="components", question="?")
    with pytest.raises(UnknownName, match="rating"):
        choose_form(form="ratings")


def answer_all(study, name, choose):
    annotator = study.store.add_annotator(name)
    while (task := study.current(annotator)[1]) is not None:
        assert study.answer(annotator, task.id, choose(task))
    return annotator


def test_a_rating_is_checked_by_images_of_another_prompt_and_by_drawings(open_study):
    rules = Rules(fastest=0, controls=2, wrong_in_a_row=2)
    study, _ = open_study(form=read_form("rating"), rules=rules)
    answer_all(study, "Ann", lambda task: {"rating": (task.expected or {"rating": "4"})["rating"][0]})
    bob = answer_all(study, "Bob", lambda task: {"rating": "3"})
    assert study.standing(bob).end == "careless"
    every, found_rules = read_database(study.store.path)
    controls = [a for a in every if a.part == "control"]
    assert {a.expected for a in controls} == {"1 | 2", "4 | 5"}
    places = dict(study.store._rows("select digest, prompt from pictures"))
    assert all((places[a.shown[0].digests[0]] == a.prompt) == (a.expected == "4 | 5") for a in controls)
    assert sum(a.rater == "Bob" for a in controls) == 2  # two wrong ones in a row, and no more tasks
    assert found_rules.wrong_in_a_row == 2
    counted = read_answers(study.store.path)
    assert {(a.rater, a.answer) for a in counted.answers} == {("Ann", "4")}
    assert {a.text for a in counted.answers} == {"How well does the image match the prompt?"}


def test_a_diversity_study_is_checked_by_a_grid_of_one_image(open_study):
    study, _ = open_study(grid=2, rules=Rules(fastest=0, controls=2))
    answer_all(study, "Ann", lambda task: task.expected or {"preference": "tie"})
    controls = [a for a in read_database(study.store.path)[0] if a.part == "control"]
    assert controls
    for each in controls:
        kinds = {side: len(set(shown.digests)) for side, shown in zip(("left", "right"), each.shown, strict=True)}
        assert sorted(kinds.values()) == [1, 2]
        assert kinds[each.expected] == 2


def test_yes_or_no_names_the_prompt_in_the_question(open_study, voter):
    study, app = open_study(form=read_form("yes-no"), rules=Rules(fastest=0, tasks=2, training=2))
    ann = voter(app)
    told = []
    for _ in range(2):  # of an image of another prompt and of a drawing, one is wrong
        ann.page = ann.client.post("/vote", data={**ann.form(), "shown": "no"})
        told.append("the right answer was “Yes, it does”" in ann.page.text)
    assert sorted(told) == [False, True]
    texts = {a.prompt: a.text for a in read_database(study.store.path)[0]}
    assert all(text == f'Does this image show "{study.prompts[prompt][0]}"?' for prompt, text in texts.items())
    assert 'class="prompt"' not in ann.page.text


def test_a_hidden_prompt_is_nowhere_on_the_page(open_study, voter):
    study, app = open_study(form=read_form("components"))
    page = voter(app).page.text
    assert not any(text in page for text, _ in study.prompts.values())
    assert not any(word in page for word in ("apple", "pear"))


def test_a_study_can_bring_known_answers_with_several_right(open_study, tmp_path):
    known = write(tmp_path, "part,prompt,model,rating\ncontrol,p1,apple,4|5\n", "known.csv")
    form = choose_form(form="rating", known=known)
    study, _ = open_study(form=form, rules=Rules(fastest=0, controls=2, tasks=2))
    answer_all(study, "Ann", lambda task: {"rating": "5"})
    (control,) = [a for a in read_database(study.store.path)[0] if a.part == "control"]
    assert (control.prompt, control.expected) == ("p1", "4 | 5")
    assert study.store.record(1, study.rules).right == 1


GUIDE = """# Guide

Look at **both** images. [Not a link](https://a.example) <script>alert(1)</script> <https://b.example>

![a dog](pictures/a%20dog.png)

| key | meaning |
|---|---|
| 1 | left |
"""


@pytest.fixture
def guide(tmp_path, shared_run):
    (tmp_path / "pictures").mkdir()
    image = next((shared_run / "images").rglob("*.png"))
    (tmp_path / "pictures" / "a dog.png").write_bytes(image.read_bytes())
    return write(tmp_path, GUIDE, "guide.md")


def test_instructions_come_first_and_stay_within_reach(open_study, voter, guide):
    study, app = open_study(form=choose_form(instructions=guide))
    ann = voter(app)
    text = ann.page.text
    assert "<strong>both</strong>" in text
    assert "<table>" in text
    assert "<script>alert" not in text
    assert 'href="https:' not in text
    assert "dog.png" not in text
    assert not study.has_begun(study.store.annotators()[0])
    (address,) = [part.split('"')[0] for part in text.split('src="')[1:] if part.startswith("/instructions/")]
    picture = ann.client.get(address)
    assert picture.headers["content-type"] == "image/png"
    ann.page = ann.client.get("/?read=yes")
    ann.vote("left")
    assert "1 vote saved" in ann.page.text
    assert 'href="/instructions"' in ann.page.text
    assert "<strong>both</strong>" in ann.client.get("/instructions").text
    (answer,) = read_database(study.store.path)[0]
    assert answer.instructions == read_instructions(guide).digest
    ann.client.cookies.clear()
    assert (ann.client.get(address).status_code, ann.client.get("/instructions").status_code) == (404, 404)


def test_other_instructions_want_another_file_of_answers(open_study, guide):
    study, _ = open_study(form=choose_form(question="Which?", instructions=guide))
    study.store.close()
    moved = study.store.path.rename(guide.parent / "moved")
    guide.write_text(GUIDE + "\nMore.")
    with pytest.raises(BadFolder, match="instructions"):
        open_study(form=choose_form(question="Which?", instructions=guide), votes=moved)


@pytest.mark.parametrize("source", ["gone.png", "../outside.png", "https://a.example/x.png", "/etc/passwd"])
def test_images_of_instructions_lie_beside_them(tmp_path, source):
    (tmp_path / "in").mkdir()
    (tmp_path / "outside.png").write_bytes(b"x")
    path = write(tmp_path, f"![x]({source})", "in/guide.md")
    with pytest.raises(BadOption, match=r"guide\.md: image"):
        read_instructions(path)


def test_images_of_instructions_must_be_images(tmp_path):
    (tmp_path / "x.png").write_bytes(b"not an image")
    with pytest.raises(BadOption, match="cannot be read"):
        read_instructions(write(tmp_path, "![x](x.png)", "guide.md"))
