from __future__ import annotations

import json


def test_a_component_says_all_of_itself(toy, t2i):
    text = t2i("info", "grey").stdout
    assert "grey  generator of toy 0.7 (toy_plugin)\nGrey squares.\n" in text
    assert "  grey.level: int (default 128, >= 0, <= 255)\n      How bright the squares are.\n" in text
    assert "domain:       photographs" in text
    assert "No options." in t2i("info", "meter").stdout
    assert "capabilities: reward" in t2i("info", "meter").stdout
    assert "citation:     Doe 2020" in t2i("info", "brightness").stdout


def test_nothing_is_cut_short(toy, install, t2i):
    described = "A long description, " * 30
    source = f"""
        from pydantic import Field
        from t2i_core.api import About, GeneratorInfo, Options, Preset, hookimpl
        class O(Options):
            words: str = Field({"w" * 300!r}, description={described!r})
        @hookimpl
        def t2i_generators():
            return [
                GeneratorInfo(name="long", summary="Long.", options=O, create=print),
                Preset(name="short", summary="Short.", of="long", options={{"words": "few"}},
                       about=About(licence="CC0")),
            ]
    """
    install("x-long", {"t2i.generators": {"long": "x_long", "short": "x_long"}}, {"x_long": source})
    text = t2i("info", "long").stdout
    assert described.strip() in text
    assert "w" * 300 in text
    preset = t2i("info", "short").stdout
    assert "Short." in preset
    assert "preset:       of long with words=few" in preset
    assert "licence:      CC0" in preset


TABLES = """
    from typing import Any
    from pydantic import Field
    from t2i_core.api import GeneratorInfo, Options, Preset, hookimpl
    class Stage(Options):
        model: str
        steps: int | None = Field(None, ge=1, description="How often.")
    class O(Options):
        steps: int | None = Field(None, ge=1)
        call: dict[str, Any] = {}
        first: Stage | None = None
        second: Stage | None = None
    @hookimpl
    def t2i_generators():
        return [
            GeneratorInfo(name="any", summary="Any.", options=O, create=print, argument="which"),
            Preset(name="one", summary="One.", of="any", argument="a",
                   options={"steps": 50, "call": {"eta": 0.0}, "first": {"model": "b", "steps": 25}}),
        ]
"""


def test_of_a_preset_what_it_sets_and_the_keys_to_type(toy, install, t2i):
    install("x-tables", {"t2i.generators": {"any": "x_tables", "one": "x_tables"}}, {"x_tables": TABLES})
    assert t2i("info", "one").stdout.partition("Options (-o KEY=VALUE)\n")[2].splitlines() == [
        "  one.steps: int | None (this preset: 50, default None, >= 1)",
        "  one.call: dict[str, Any] (this preset: {'eta': 0.0}, default {})",
        "      one.call.KEY: one entry",
        "  one.first: Stage | None (this preset: {'model': 'b', 'steps': 25}, default None)",
        "  one.first.model: str (this preset: 'b', required)",
        "  one.first.steps: int | None (this preset: 25, default None, >= 1)",
        "      How often.",
        "  one.second: Stage | None (default None)",
        "      one.second.KEY: model, steps",
    ]
    (found,) = json.loads(t2i("info", "one", "--json").stdout)
    assert {each["key"]: each.get("preset") for each in found["options"]} == {
        "one.steps": "50",
        "one.call": "{'eta': 0.0}",
        "one.first": "{'model': 'b', 'steps': 25}",
        "one.first.model": "'b'",
        "one.first.steps": "25",
        "one.second": None,
        "one.second.model": None,
        "one.second.steps": None,
    }
    assert "any.steps: int | None (default None, >= 1)" in t2i("info", "any").stdout


def test_json_and_names_that_kinds_share(toy, install, t2i):
    source = """
        from t2i_core.api import PromptSourceInfo, hookimpl
        @hookimpl
        def t2i_prompt_sources(): return [PromptSourceInfo(name="grey", summary="Grey words.", prompts=print)]
    """
    install("x-grey", {"t2i.prompt_sources": {"grey": "x_grey"}}, {"x_grey": source})
    found = json.loads(t2i("info", "grey", "--json").stdout)
    assert [each["kind"] for each in found] == ["generator", "prompt_source"]
    assert found[0]["options"][0] == {
        "key": "generator:grey.level",
        "name": "level",
        "type": "int",
        "default": "128",
        "constraint": ">= 0, <= 255",
        "description": "How bright the squares are.",
        "table": None,
        "other_names": [],
    }
    assert [each["kind"] for each in json.loads(t2i("info", "prompt-source:grey", "--json").stdout)] == [
        "prompt_source"
    ]


def test_an_unknown_name(toy, t2i):
    result = t2i("info", "gray")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "error: unknown component 'gray': did you mean 'grey'?\n"


METRICS = """
from t2i_core.api import Measure, Metric, MetricInfo, Need, Options, hookimpl

class Asked(Metric):
    needs = (
        Need("seen", "reward", alternatives=(Need("seen", "answer", question="Is it {colour}?"),)),
        Need("texts", "embed"),
    )

class Given(Options):
    file: str

def fail(setup):
    raise RuntimeError("no such table")

@hookimpl
def t2i_metrics():
    measures = (Measure("asked", ""),)
    return [
        MetricInfo(name="broken", summary="", create=fail, measures=measures),
        MetricInfo(name="asked", summary="", create=Asked, measures=measures),
        MetricInfo(name="given", summary="", create=Asked, options=Given, measures=measures),
    ]
"""


def test_info_lists_needs_and_alternatives_of_a_metric(t2i, install):
    names = dict.fromkeys(("asked", "given", "broken"), "t2i_asked")
    install("t2i-asked", {"t2i.metrics": names}, {"t2i_asked": METRICS})
    text = t2i("info", "asked").stdout
    assert '  needs:        seen: reward, or answer: "Is it {colour}?"\n                texts: embed\n' in text
    (found,) = json.loads(t2i("info", "asked", "--json").stdout)
    assert found["needs"] == {"seen": ["reward", 'answer: "Is it {colour}?"'], "texts": ["embed"]}
    assert "needs:" not in t2i("info", "given").stdout  # it has a required option
    broken = t2i("info", "broken")
    assert broken.exit_code == 0
    (line,) = (line for line in broken.stdout.splitlines() if "needs:" in line)
    assert "no such table" in line
    (found,) = json.loads(t2i("info", "broken", "--json").stdout)
    assert found["needs"] == {}
    assert "no such table" in found["needs_not_known"]
