from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, field_validator, model_validator
from t2i_core.api.errors import AmbiguousName, BadOption, UnknownName
from t2i_core.api.options import Options, OtherNames
from t2i_registry import Registry
from t2i_registry.options import (
    Word,
    check_options,
    describe_options,
    merge_options,
    repeat_word,
    split_assignment,
)


class Fault(Options):
    rate: float = Field(0.0, ge=0, le=1, description="How often.")
    of: tuple[str, ...] = ()


class Everything(Options):
    steps: int = Field(50, ge=1, description="Denoising\n   steps.")
    name: str = "x"
    mode: Literal["fast", "exact"] = "fast"
    size: int | Literal["auto"] = "auto"
    limit: float | None = 1.0
    flag: bool = False
    sizes: list[int] = Field([1])
    table: dict[str, float] = Field({})
    place: Path | None = None
    places: tuple[Path, ...] = ()
    fault: Fault = Fault()


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"steps": "20"}, {"steps": 20}),
        ({"name": "1e5"}, {"name": "1e5"}),
        ({"name": "null"}, {"name": "null"}),
        ({"mode": "exact"}, {"mode": "exact"}),
        ({"size": "64"}, {"size": 64}),
        ({"limit": "0.25"}, {"limit": 0.25}),
        ({"limit": "null"}, {"limit": None}),
        ({"limit": "None"}, {"limit": None}),
        ({"flag": "yes"}, {"flag": True}),
        ({"sizes": "[1, 2]"}, {"sizes": [1, 2]}),
        ({"sizes": "1,2"}, {"sizes": [1, 2]}),
        ({"sizes": [3]}, {"sizes": [3]}),
        ({"table": "{a: 1.5}"}, {"table": {"a": 1.5}}),
        ({"table": {"a": "1.5"}}, {"table": {"a": 1.5}}),
        ({"fault": {"rate": "0.5", "of": "cat,dog"}}, {"fault": Fault(rate=0.5, of=("cat", "dog"))}),
        ({"fault": "{rate: 0.5}"}, {"fault": Fault(rate=0.5)}),
    ],
)
def test_every_type_can_be_given_as_text(given, want):
    assert check_options(Everything, given, "metric 'm'") == Everything(**want)


def test_the_home_folder_of_paths_is_found():
    found = check_options(
        Everything, {"name": "~/x", "place": "~/x", "places": "~/a,b,~no-such-user/c"}, "metric 'm'"
    )
    assert (found.name, found.place) == ("~/x", Path.home() / "x")
    assert found.places == (Path.home() / "a", Path("b"), Path("~no-such-user/c"))


@pytest.mark.parametrize(
    "text",
    ["2020-13-45", "[" * 100_000, "&a [*a]", "[&a [x], " + "&b [*a, *a], " * 60_000 + "]", "1:" * 50_000 + "1"],
)
def test_a_text_that_no_yaml_should_hold_stays_a_text(text):
    with pytest.raises(BadOption, match="sizes") as error:
        check_options(Everything, {"sizes": {"a": text}}, "metric 'm'")
    assert "\n" not in str(error.value)
    assert check_options(Everything, {"name": text}, "metric 'm'").name == text
    with pytest.raises(BadOption, match="steps"):
        check_options(Everything, {"steps": text}, "metric 'm'")


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"stepps": 1}, ["unknown option 'stepps' of metric 'm': did you mean 'steps'?"]),
        ({"zzz": 1}, ["unknown option 'zzz' of metric 'm'; choose steps, name"]),
        ({"fault": {"rat": 1}}, ["unknown option 'fault.rat'", "did you mean 'fault.rate'"]),
        ({"steps": "many"}, ["option 'steps' of metric 'm' must be a whole number (got 'many')"]),
        ({"steps": "0"}, ["must be at least 1 (got '0')"]),
        ({"steps": "true"}, ["must be a whole number (got 'true')"]),  # pydantic would take it for 1
        ({"fault": {"rate": True}}, ["option 'fault.rate'", "must be a number (got true)"]),
        ({"mode": "slow"}, ["'fast' or 'exact'"]),
        ({"fault": {"rate": "2"}}, ["option 'fault.rate'", "must be at most 1 (got '2')"]),
        ({"steps": "x", "mode": "y", "nam": 1}, ["'steps'", "'mode'", "'nam'"]),
        ({"stepps": 1, "zz": 1}, ["did you mean 'steps'? Unknown option 'zz' of metric 'm'; choose steps"]),
    ],
)
def test_errors_are_one_line(given, parts):
    with pytest.raises(BadOption) as caught:
        check_options(Everything, given, "metric 'm'")
    assert "\n" not in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


def test_required_options_and_own_validators():
    class Own(Options):
        path: str

        @field_validator("path")
        @classmethod
        def _absolute(cls, value: str) -> str:
            if not value.startswith("/"):
                raise ValueError("Want an absolute path")
            return value

    with pytest.raises(BadOption, match=r"option 'path' of judge 'j' is required; set it with -o j\.path=VALUE"):
        check_options(Own, {}, "judge 'j'")
    with pytest.raises(BadOption, match="option 'path' of judge 'j': 'a' is not valid: want an absolute path"):
        check_options(Own, {"path": "a"}, "judge 'j'")


def test_of_a_list_it_is_told_which_part_is_wrong():
    class Parts(Options):
        sizes: tuple[Annotated[int, Field(ge=1)], ...] = ()
        steps: int = 1

    for text, said in (
        ("2,0", "option 'sizes.1' of judge 'j' must be at least 1"),
        ("[0]", "option 'sizes.0' of judge 'j' must"),
    ):
        with pytest.raises(BadOption, match=said):
            check_options(Parts, {"sizes": text}, "judge 'j'")
    with pytest.raises(BadOption, match=r"^option 'steps' of judge 'j' must be a whole number \(got 'many'\)$"):
        check_options(Parts, {"sizes": "1,2", "steps": "many"}, "judge 'j'")


def test_help_describes_nested_options_too():
    found = {option.name: option for option in describe_options(Everything)}
    assert found["steps"].type == "int"
    assert (found["steps"].default, found["steps"].constraint) == ("50", ">= 1")
    assert found["steps"].description == "Denoising steps."
    assert found["mode"].type == "Literal['fast', 'exact']"
    assert found["place"].type == "Path | None"
    assert found["sizes"].type == "list[int]"
    assert found["fault.rate"].constraint == ">= 0, <= 1"
    assert "fault" not in found

    class Required(Options):
        path: Annotated[str, Field(min_length=2, pattern="a+")]

    class Table(Options):
        inner: Fault | None = None
        word: Literal["a.b"] = "a.b"
        parts: tuple[Annotated[str, Field(pattern="a+")], ...] = ()

    assert [(o.name, o.type, o.table) for o in describe_options(Table)] == [
        ("inner", "Fault | None", None),
        ("inner.rate", "float", "inner"),
        ("inner.of", "tuple[str, ...]", "inner"),
        ("word", "Literal['a.b']", None),
        ("parts", "tuple[str, ...]", None),
    ]
    (option,) = describe_options(Required)
    assert option.default is None
    assert option.constraint == "length >= 2, pattern a+"


class Free(Options):
    call: dict[str, Any] = Field(default_factory=dict)
    names: dict[str, str] = Field(default_factory=dict)
    anything: Any = None
    stage: Free | None = None


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("0.5", 0.5),
        ("1e-5", 1e-5),
        ("false", False),
        ("none", None),
        ("[1, a]", [1, "a"]),
        ("trailing", "trailing"),
        ("2024-05-06", "2024-05-06"),
        ("NaN", "NaN"),
        (".inf", ".inf"),
        ("{", "{"),
        ("", ""),
    ],
)
def test_a_word_is_read_where_anything_fits(word, meant):
    keys = ("call.a", "call.b.c", "names.a", "anything", "stage.call.a")
    assignments = [split_assignment(f"m.{key}={word}", ["m"]) for key in keys]
    table = merge_options(*({".".join(path): value} for _, path, value in assignments))
    options = check_options(Free, table, "m")
    assert options.call == {"a": meant, "b": {"c": meant}}
    assert type(options.call["a"]) is type(meant)
    assert options.names == {"a": word}
    assert options.anything == meant
    assert options.stage.call == {"a": meant}
    assert check_options(Free, {"call": {"a": "false"}}, "m").call == {
        "a": "false"
    }  # a recipe has read it already


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("tiam.confidence=0.4", ("tiam", ("confidence",), "0.4")),
        ("sd1.5.steps=20", ("sd1.5", ("steps",), "20")),
        ("new.a.b=x=y", ("new", ("a", "b"), "x=y")),
        ("judge:openai.url=http://a/b:1", ("judge:openai", ("url",), "http://a/b:1")),
        ("t2i-x/sd1.5.a=", ("t2i-x/sd1.5", ("a",), "")),
        ("judge:t2i-x/tiam.a=1", ("judge:t2i-x/tiam", ("a",), "1")),
    ],
)
def test_assignments(text, want):
    assert split_assignment(text, ["tiam", "sd1.5", "sd1"]) == want


@pytest.mark.parametrize("text", ["tiam", "tiam=1", "tiam.=1", ".a=1", "tiam.a..b=1", "tiam.a"])
def test_malformed_assignments(text):
    with pytest.raises(BadOption, match=r"must be NAME\.KEY=VALUE"):
        split_assignment(text, ["tiam"])


def test_merging_goes_into_nested_tables():
    assert merge_options({"a": {"b": 1, "c": 2}, "d": 1}, {"a.b": 3}, {"a": {"e.f": 4}, "d": 2}) == {
        "a": {"b": 3, "c": 2, "e": {"f": 4}},
        "d": 2,
    }


SAME = """
    from t2i_core.api import GeneratorInfo, JudgeInfo, Options, hookimpl

    class O(Options):
        a: int = 0
        b: int = 0

    @hookimpl
    def t2i_generators():
        return [GeneratorInfo(name=n, summary="", options=O, create=print) for n in ("x-same", "x-only")]

    @hookimpl
    def t2i_judges():
        return [JudgeInfo(name="x-same", summary="", options=O, capabilities={}, create=print)]
"""


def test_options_find_their_component(install):
    install(
        "x-one",
        {"t2i.generators": {"x-same": "x_one", "x-only": "x_one"}, "t2i.judges": {"x-same": "x_one"}},
        {"x_one": SAME},
    )
    registry = Registry()
    table = registry.read_options(
        ["generator:x-same.a=1", "judge:x-same.a=2", "x-only.a=3", "generator:x-only.a=4"]
    )
    assert registry.component("generator", "x-same", table).options.a == 1
    assert registry.component("judge", "x-same", table).options.a == 2
    assert registry.component("generator", "x-only", table).options.a == 4
    assert registry.component("generator", "x-only", {"x-one/x-only": {"b": 5}, "x-only": {"b": 1}}).options.b == 5
    with pytest.raises(AmbiguousName, match="write generator:x-same or judge:x-same"):
        registry.component("generator", "x-only", {"x-same": {"a": "1"}})
    with pytest.raises(BadOption, match="'metrik' is not a kind"):
        registry.component("generator", "x-only", {"metrik:x-same": {"a": "1"}})


def test_the_name_that_sets_options_of_one_component_alone(install):
    install("x-one", {"t2i.generators": {"x-same": "x_one", "x-only": "x_one"}, "t2i.judges": {"x-same": "x_one"}})
    install("x-two", {"t2i.judges": {"x-same": "x_two"}})
    registry = Registry()
    entries = [registry.find("generator", "x-only"), registry.find("generator", "x-same")]
    entries += [registry.find("judge", "x-same", dist) for dist in ("x-one", "x-two")]
    names = [registry.name_option(entry) for entry in entries]
    assert names == ["x-only", "generator:x-same", "judge:x-one/x-same", "judge:x-two/x-same"]
    registry.check_names({name: {} for name in names})


def test_options_of_nobody_are_refused(install):
    install("x-one", {"t2i.generators": {"x-only": "x_one"}})
    registry = Registry()
    registry.check_names({"x-only": {}, "generator:x-only": {}, "x-one/x-only": {}})
    for key in ("x-onyl", "generator:x-onyl"):
        with pytest.raises(UnknownName, match="did you mean 'x-only'"):
            registry.check_names({key: {}})


class Stage(Options):
    guidance: Annotated[float | None, OtherNames("guidance_scale", "cfg")] = None


class Drawing(Options):
    steps: Annotated[int, OtherNames("num_inference_steps")] = 50
    height: Annotated[int, OtherNames("size")] = 64
    width: Annotated[int, OtherNames("size")] = 64
    upscaler: Stage | None = None


@pytest.mark.parametrize(
    ("given", "hints"),
    [
        ({"num_inference_steps": 3}, ["'steps'"]),
        ({"size": 3}, ["'height' or 'width'"]),
        ({"upscaler": {"cfg": 3}}, ["'upscaler.guidance'"]),
        ({"guidance": 3}, ["choose steps, height, width, upscaler"]),  # not those of every stage
        ({"zzz": 3, "qqq": 4}, ["choose steps, height, width, upscaler", "choose one of these"]),
    ],
)
def test_a_name_from_elsewhere_suggests_the_option(given, hints):
    with pytest.raises(BadOption) as caught:
        check_options(Drawing, given, "generator 'd'")
    assert all(hint in str(caught.value) for hint in hints)
    assert str(caught.value).count("height, width") <= 1


def test_a_list_takes_all_values_of_a_repeated_option():
    table: dict[str, Any] = {}
    for path, value in [
        (("sizes",), "1"),
        (("name",), "a"),
        (("sizes",), "2"),
        (("name",), "b"),
        (("sizes",), "3"),
    ]:
        table = merge_options(table, {".".join(path): repeat_word(table, path, Word(value))})
    found = check_options(Everything, table, "metric 'm'")
    assert (found.sizes, found.name) == ([1, 2, 3], "b")
    nested = merge_options({"fault": {"of": Word("cat")}}, {})
    nested = merge_options(nested, {"fault.of": repeat_word(nested, ("fault", "of"), Word("dog"))})
    assert check_options(Everything, nested, "metric 'm'").fault == Fault(of=("cat", "dog"))


def test_a_list_does_not_hide_that_options_do_not_fit_each_other():
    class Exclusive(Options):
        files: tuple[str, ...] = ()
        active: bool = False

        @model_validator(mode="after")
        def _check(self):
            if self.active and self.files:
                raise ValueError("active reads no files")
            return self

    with pytest.raises(BadOption, match="active reads no files"):
        check_options(Exclusive, {"active": "true", "files": "a.csv"}, "metric 'm'")
