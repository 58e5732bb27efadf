from __future__ import annotations

from pathlib import Path

import pytest
from t2i_core.api.errors import BadOption, BrokenPlugin, MissingDependency
from t2i_registry import Registry

BASE = """
    from pydantic import BaseModel
    from t2i_core.api import About, GeneratorInfo, Options, SelfJudgingInfo, hookimpl

    class Guidance(BaseModel):
        scale: float = 7.5
        end: float = 1.0

    class O(Options):
        steps: int = 50
        guidance: Guidance = Guidance()

    @hookimpl
    def t2i_generators():
        return [
            SelfJudgingInfo(
                name="base", summary="Base.", options=O, argument="a folder", needs_argument=True,
                create=print, about=About(citation="Base et al.", licence="base-licence"),
                capabilities=frozenset({"likelihood"}),
            ),
            GeneratorInfo(name="plain", summary="Plain.", options=O, create=print),
            GeneratorInfo(name="either", summary="Either.", argument="a colour", create=print),
        ]
"""
PRESETS = """
    from t2i_core.api import About, Domain, Preset, hookimpl

    WORLD = Domain("world", "A world.")

    @hookimpl
    def t2i_generators():
        return [
            Preset(name="small", summary="Small.", of="base", argument="here", domain=WORLD,
                   options={"steps": 20, "guidance": {"scale": 3}}, about=About(licence="MIT")),
            Preset(name="smaller", summary="Smaller.", of="x-presets/small",
                   options={"guidance.end": 0.5, "steps": 10}),
            Preset(name="open", summary="Open.", of="x-base/base"),
            Preset(name="double", summary="", of="small", argument="there"),
            Preset(name="lost", summary="", of="x-far/far"),
            Preset(name="wrong", summary="", of="plain", options={"stepps": 1}),
            Preset(name="ring", summary="", of="rang"),
            Preset(name="rang", summary="", of="ring"),
        ]
"""
NAMES = ("small", "smaller", "open", "double", "lost", "wrong", "ring", "rang")


@pytest.fixture
def registry(install) -> Registry:
    install(
        "x-base",
        {"t2i.generators": dict.fromkeys(("base", "plain", "either"), "x_base")},
        {"x_base": BASE},
        version="2.0",
    )
    install("x-presets", {"t2i.generators": dict.fromkeys(NAMES, "x_presets")}, {"x_presets": PRESETS})
    return Registry()


def test_a_preset_is_another_component_with_argument_and_options_set(registry):
    made = registry.component("generator", "small", {})
    assert (made.spec, made.name, made.argument) == ("small", "small", "here")
    assert (made.options.steps, made.options.guidance.scale) == (20, 3)
    assert made.info.domain.name == "world"
    assert (made.info.about.licence, made.info.about.citation) == ("MIT", "Base et al.")
    assert (made.dist, made.version) == ("x-base", "2.0")
    assert made.info.capabilities == {"likelihood"}


def test_its_results_are_those_of_the_component_it_names(registry):
    same = registry.component("generator", "base:here", {"base": {"steps": 20, "guidance": {"scale": 3}}})
    assert registry.component("generator", "small", {}).fingerprint == same.fingerprint


def test_presets_of_presets_and_the_users_word_last(registry):
    made = registry.component("generator", "smaller", {"smaller": {"guidance": {"scale": "9"}}})
    assert (made.options.steps, made.options.guidance.scale, made.options.guidance.end) == (10, 9, 0.5)
    assert made.argument == "here"
    assert registry.describe(registry.find("generator", "smaller")).summary == "Smaller."


def test_arguments(registry):
    assert registry.component("generator", "open:some:where/x", {}).argument == "some:where/x"
    assert registry.component("generator", "either:red", {}).argument == "red"
    assert registry.component("generator", "either:", {}).argument is None
    home = registry.component("generator", "either:~/blue", {})
    assert (home.spec, home.argument) == ("either:~/blue", str(Path.home() / "blue"))
    for spec, part in [
        ("open", "generator 'open' needs an argument: open:ARGUMENT (a folder)"),
        ("base:", "needs an argument: base:ARGUMENT"),
        ("plain:x", "generator 'plain' takes no argument (got 'x')"),
        ("small:x", "takes no argument, because the preset sets 'here'"),
    ]:
        with pytest.raises(BadOption) as caught:
            registry.component("generator", spec, {})
        assert part in str(caught.value)


def test_faults_name_the_preset(registry):
    for name, error, part in [
        ("ring", BrokenPlugin, "(x_presets): its presets refer to each other in a circle: ring -> rang -> ring"),
        ("double", BrokenPlugin, "sets an argument, but its base 'small' already sets one"),
        (
            "lost",
            MissingDependency,
            "is a preset of generator 'x-far/far', which no installed plugin offers: install x-far",
        ),
        ("wrong", BadOption, "unknown option 'stepps' of generator 'wrong': did you mean 'steps'?"),
    ]:
        with pytest.raises(error) as caught:
            registry.component("generator", name, {})
        assert part in str(caught.value)
