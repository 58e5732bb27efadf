"""Reasons of wrong images, in words, on hand-made detections and answers."""

import pytest
from t2i_core.api import QuestionAnswer, Sample, Setup, Unit
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.metric_input import Answer, Observed
from t2i_paintskills.metrics import NEED, ColorSkill, CountSkill, ObjectSkill, PaintSkills, SpatialSkill
from t2i_paintskills.options import ColorOptions, ConfidenceOptions, CountOptions, PaintSkillsOptions, SkillOptions

METRICS = {
    "object": lambda: ObjectSkill(Setup(None, ConfidenceOptions())),
    "count": lambda: CountSkill(Setup(None, CountOptions())),
    "color": lambda: ColorSkill(Setup(None, ColorOptions())),
    "spatial": lambda: SpatialSkill(Setup(None, SkillOptions())),
}
LEFT, RIGHT, TOP = (0.2, 0.5, 0.2, 0.2), (0.8, 0.5, 0.2, 0.2), (0.2, 0.1, 0.2, 0.2)
DOG, BED = {"p": {"dog": 0.9}, "box": LEFT}, {"p": {"bed": 0.8}, "box": RIGHT}
BOTH = [DOG, BED]
RED_DOG = {**DOG, "color": {"red": 1.0}}
CASES = [
    ("object", ["dog"], {}, [DOG], "", []),
    ("object", ["dog"], {}, [BED], "bed found, not dog", ["bed"]),
    ("object", ["dog"], {}, [], "dog not found", []),
    ("object", ["dog"], {}, [{"p": {"dog": 0.5}}], "dog not found with enough confidence", ["dog"]),
    ("color", ["dog"], {"colour": "red"}, [RED_DOG], "", []),
    ("color", ["dog"], {"colour": "blue"}, [RED_DOG], "dog is red, not blue", ["dog, red"]),
    ("color", ["bed"], {"colour": "blue"}, [RED_DOG], "dog found, not bed", ["dog, red"]),
    ("color", ["dog"], {"colour": "blue"}, [DOG], "dog is of no colour, not blue", ["dog"]),
    ("count", ["dog"], {"count": 1}, [DOG], "", []),
    ("count", ["dog"], {"count": 4}, [DOG, DOG, BED], "counted 2 dog, asked 4", ["dog", "dog"]),
    ("count", ["dog"], {"count": 2}, [], "counted 0 dog, asked 2", []),
    ("spatial", ["dog", "bed"], {"relation": "right"}, [DOG, BED], "", []),
    ("spatial", ["dog", "bed"], {"relation": "left"}, BOTH, "bed is right of dog, not left of", ["dog", "bed"]),
    ("spatial", ["bed", "dog"], {"relation": "above"}, BOTH, "dog is left of bed, not above", ["dog", "bed"]),
    ("spatial", ["dog", "bird"], {"relation": "left"}, [DOG, BED], "bird not found", ["dog", "bed"]),
    ("spatial", ["bird", "bus"], {"relation": "left"}, [], "bird not found; bus not found", []),
    ("spatial", ["dog", "dog"], {"relation": "left"}, [DOG, BED], "only one dog found", ["dog", "bed"]),
    (
        "spatial", ["dog", "dog"], {"relation": "left"}, [DOG, {**DOG, "box": TOP}],
        "two dog are one above the other, not side by side", ["dog", "dog"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("skill", "names", "more", "queries", "because", "shown"), CASES)
def test_a_wrong_image_says_why_and_shows_what_decided(world, skill, names, more, queries, because, shown):
    prompt, found = world.item(skill, *names, **more).prompt(), world.detections(queries)
    row = world.rows(METRICS[skill](), prompt, found)[0]
    assert (row.because, [each.label for each in row.evidence]) == (because, shown)
    assert (row.value == 1) == (because == "")
    (whole,) = world.rows(PaintSkills(Setup(None, PaintSkillsOptions())), prompt, found)
    assert (whole.measure, whole.because, whole.evidence) == (skill, because, row.evidence)


def test_each_part_of_a_decision_has_its_own_reason(world):
    rows = world.rows(
        METRICS["color"](), world.item("color", "bed", colour="blue").prompt(), world.detections([RED_DOG])
    )
    assert [(row.measure, row.because) for row in rows[1:]] == [
        ("object", "dog found, not bed"),
        ("colour", "bed is red, not blue"),
    ]
    rows = world.rows(
        METRICS["count"](), world.item("count", "dog", count=2).prompt(), world.detections([DOG, BED])
    )
    assert [(row.value, row.because) for row in rows] == [(0, "counted 1 dog, asked 2"), (1, "")]


@pytest.mark.parametrize(
    ("skill", "names", "more", "answers", "because"),
    [
        ("object", ["dog"], {}, "y", ""),
        ("object", ["dog"], {}, "n", "dog not found"),
        ("color", ["dog"], {"colour": "red"}, "yn", "dog found, not red"),
        ("color", ["dog"], {"colour": "red"}, "nn", "dog not found"),
        ("count", ["dog"], {"count": 2}, "n", "not exactly 2 dog"),
        ("spatial", ["dog", "bed"], {"relation": "left"}, "yny", "bed not found"),
        ("spatial", ["dog", "bed"], {"relation": "left"}, "yyn", "bed is not left of dog"),
        ("spatial", ["dog", "dog"], {"relation": "left"}, "nn", "fewer than 2 dog found"),
        ("spatial", ["dog", "dog"], {"relation": "left"}, "yn", "dog is not left of dog"),
    ],
)
def test_answers_have_reasons_too(world, skill, names, more, answers, because):
    prompt = world.item(skill, *names, **more).prompt()
    given = [Answer(QuestionAnswer(YES_NO, "yn".index(each)), {}) for each in answers]
    unit = Unit(("model",), prompt, 0, [Observed((Sample("model", prompt, 0),), {NEED: given})])
    assert next(iter(METRICS[skill]().measure(unit))).because == because
