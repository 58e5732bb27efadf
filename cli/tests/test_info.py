from __future__ import annotations

import json


def test_a_component_says_all_of_itself(toy, t2i):
    text = t2i("info", "grey").stdout
    assert "grey  generator of toy 0.7 (toy_plugin)\nGrey squares.\n" in text
    assert "  level: int (default 128, >= 0, <= 255)\n      How bright the squares are.\n" in text
    assert "domain:       photographs" in text
    assert "It has no options." in t2i("info", "meter").stdout
    assert "capabilities: reward" in t2i("info", "meter").stdout
    assert "citation:     Doe 2020" in t2i("info", "brightness").stdout


def test_nothing_is_cut_short(toy, install, t2i):
    described = "A long description, " * 30
    source = f"""
        from pydantic import Field
        from t2i_core import GeneratorInfo, Options, Preset, hookimpl
        class O(Options):
            words: str = Field({"w" * 300!r}, description={described!r})
        @hookimpl
        def t2i_generators():
            return [
                GeneratorInfo(name="long", summary="Long.", options=O, create=print),
                Preset(name="short", summary="Short.", of="long", options={{"words": "few"}}, licence="CC0"),
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


def test_json_and_names_that_kinds_share(toy, install, t2i):
    source = """
        from t2i_core import PromptSourceInfo, hookimpl
        @hookimpl
        def t2i_prompt_sources(): return [PromptSourceInfo(name="grey", summary="Grey words.", prompts=print)]
    """
    install("x-grey", {"t2i.prompt_sources": {"grey": "x_grey"}}, {"x_grey": source})
    found = json.loads(t2i("info", "grey", "--json").stdout)
    assert [each["kind"] for each in found] == ["generator", "prompt_source"]
    assert found[0]["options"][0] == {
        "name": "level",
        "type": "int",
        "default": "128",
        "constraint": ">= 0, <= 255",
        "description": "How bright the squares are.",
    }
    assert [each["kind"] for each in json.loads(t2i("info", "prompt-source:grey", "--json").stdout)] == [
        "prompt_source"
    ]


def test_an_unknown_name(toy, t2i):
    result = t2i("info", "gray")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "error: unknown component 'gray': did you mean 'grey'?\n"
