from __future__ import annotations

import sys

import pytest
from t2i_core.api.errors import AmbiguousName, BrokenPlugin, MissingDependency, UnknownName
from t2i_core.version import __version__
from t2i_registry import Registry, plugin_check
from t2i_registry.plugin_check import check_plugins

GENERATOR = """
    from t2i_core.api import GeneratorInfo, hookimpl

    @hookimpl
    def t2i_generators():
        return [GeneratorInfo(name="{name}", summary="{name}.", create=lambda setup: None)]
"""

BROKEN = {
    "raises": (
        "raise RuntimeError('no luck\\ntoday')",
        ["does not import", "RuntimeError: no luck today", "x_bad.py:1"],
    ),
    "exits": ("import sys; sys.exit(3)", ["does not import", "SystemExit: 3"]),
    "syntax": ("def f(:\n    pass", ["does not import", "SyntaxError", "x_bad.py, line 1"]),
    "absent": (None, ["does not import", "No module named 'x_bad'"]),
    "silent": ("x = 1", ["implements no hook t2i_generators"]),
    "number": (
        "from t2i_core.api import hookimpl\n@hookimpl\ndef t2i_generators(): return 42",
        ["t2i_generators returned 42 (int)", "must return GeneratorInfo or Preset"],
    ),
    "text": (
        "from t2i_core.api import hookimpl\n@hookimpl\ndef t2i_generators(): return 'bad'",
        ["returned 'bad' (str)"],
    ),
    "items": (
        "from t2i_core.api import hookimpl\n@hookimpl\ndef t2i_generators(): return [None]",
        ["returned a collection with None (NoneType)"],
    ),
    "nothing": (
        "from t2i_core.api import hookimpl\n@hookimpl\ndef t2i_generators(): return None",
        ["returned None (NoneType)"],
    ),
    "misspelt": (
        "from t2i_core.api import hookimpl\n@hookimpl\ndef t2i_generaters(): return []",
        ["unknown hook 't2i_generaters'", "did you mean 't2i_generators'"],
    ),
    "arguments": (
        "from t2i_core.api import hookimpl\n@hookimpl\ndef t2i_generators(config): return []",
        ["cannot be registered", "config"],
    ),
    "other name": (GENERATOR.format(name="good"), ["offers 'good', not 'bad'"]),
    "hook raises": (
        "from t2i_core.api import hookimpl\n@hookimpl\ndef t2i_generators(): yield 1 / 0",
        ["fails in its hook t2i_generators", "ZeroDivisionError", "x_bad.py:3"],
    ),
    "options": (
        GENERATOR.format(name="bad").replace("create=", "options=dict, create="),
        ["must be a subclass of Options"],
    ),
    "capability": (
        GENERATOR.format(name="bad")
        .replace("GeneratorInfo", "SelfJudgingInfo")
        .replace("create=", "capabilities=frozenset({'likelyhood'}), create="),
        ["unknown capability 'likelyhood'", "did you mean 'likelihood'?"],
    ),
    "twice": (
        GENERATOR.format(name="bad").replace("return [", "return 2 * ["),
        ["offers 'bad' 2 times"],
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_plugin_is_named_and_harms_nobody_else(install, fault):
    source, parts = BROKEN[fault]
    install(
        "x-bad",
        {"t2i.generators": {"bad": "x_bad"}},
        {"x_bad": source} if source is not None else {},
        version="0.3",
    )
    install("x-good", {"t2i.generators": {"good": "x_good"}}, {"x_good": GENERATOR.format(name="good")})
    registry = Registry()
    assert {"bad", "good"} <= {e["name"] for e in registry.manifest()}
    assert registry.component("generator", "good", {}).info.name == "good"
    with pytest.raises(BrokenPlugin) as caught:
        registry.component("generator", "bad", {})
    message = str(caught.value)
    assert message.startswith("plugin x-bad 0.3 (x_bad): ")
    assert "\n" not in message
    for part in parts:
        assert part in message


@pytest.mark.long
@pytest.mark.parametrize(
    "requirement", ["t2i-core>=99", "T2I_Core[torch] ~= 99.0", "t2i-core<0.0.1; python_version > '3'"]
)
@pytest.mark.parametrize("source", [GENERATOR.format(name="late"), "import gone_from_core"])
def test_a_plugin_for_another_core_is_refused_before_it_is_imported(install, requirement, source):
    install(
        "x-late", {"t2i.generators": {"late": "x_late"}}, {"x_late": source}, version="0.3",
        requires=("numpy>=2", requirement),
    )  # fmt: skip
    with pytest.raises(BrokenPlugin) as caught:
        Registry().component("generator", "late", {})
    message = str(caught.value)
    assert message.startswith("plugin x-late 0.3 (x_late): it requires t2i-core ")
    assert message.endswith(f"t2i-core {__version__} is installed: pip install --upgrade x-late t2i-core")
    assert "x_late" not in sys.modules
    (found,) = check_plugins(Registry().catalogue.entries)
    assert (found.status, found.error) == ("broken", message)


@pytest.mark.parametrize(
    "requires",
    [
        (),
        ("t2i-core",),
        (f"t2i-core[torch]=={__version__}",),
        ("t2i-core>=99; extra == 'next'", "t2i-core>=99; python_version < '3'"),
        ("t2i-core-tools>=99",),
    ],
)
def test_a_plugin_whose_requirement_the_installed_core_meets_loads(install, requires):
    install(
        "x-good", {"t2i.generators": {"good": "x_good"}}, {"x_good": GENERATOR.format(name="good")},
        requires=requires,
    )  # fmt: skip
    assert Registry().component("generator", "good", {}).info.name == "good"


def test_a_requirement_that_cannot_be_read_is_the_plugins_fault(install):
    install(
        "x-odd", {"t2i.generators": {"odd": "x_odd"}}, {"x_odd": GENERATOR.format(name="odd")},
        requires=("t2i-core >< 1",),
    )  # fmt: skip
    with pytest.raises(BrokenPlugin, match=r"x-odd 1\.0 .*'t2i-core >< 1'"):
        Registry().component("generator", "odd", {})


def test_an_interrupt_is_not_an_error_of_the_plugin(install):
    install("x-bad", {"t2i.metrics": {"bad": "x_bad"}}, {"x_bad": "raise KeyboardInterrupt"})
    with pytest.raises(KeyboardInterrupt):
        Registry().component("metric", "bad", {})


def test_output_of_plugins_is_kept_off_standard_output(install, capsys):
    install(
        "x-loud",
        {"t2i.generators": {"loud": "x_loud"}},
        {"x_loud": GENERATOR.format(name="loud") + "\n    print('hi')"},
    )
    Registry().component("generator", "loud", {})
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hi\n")


@pytest.mark.parametrize(
    ("requires", "way_out"),
    [
        (("absent-lib>=2",), "pip install absent-lib"),
        (('absent-lib>=2; extra == "gpu"',), "pip install 'x-poor[gpu]'"),
        ((), "install the package that provides it"),
    ],
)
def test_a_missing_module_says_what_to_install(install, requires, way_out):
    install("x-poor", {"t2i.metrics": {"poor": "x_poor"}}, {"x_poor": "import absent_lib.part"}, requires=requires)
    with pytest.raises(MissingDependency, match="needs the module 'absent_lib'") as caught:
        Registry().component("metric", "poor", {})
    assert way_out in str(caught.value)


def test_a_plugin_whose_own_module_misses_a_part_is_broken(install):
    install("x-part", {"t2i.metrics": {"m": "x_part.plugin"}}, {"x_part.plugin": "import x_part.absent"})
    with pytest.raises(BrokenPlugin, match=r"No module named 'x_part.absent'"):
        Registry().component("metric", "m", {})


def test_a_clash_is_settled_by_the_distribution(install):
    install("x-one", {"t2i.generators": {"same": "x_one"}}, {"x_one": GENERATOR.format(name="same")})
    install("x-two", {"t2i.generators": {"same": "x_two"}}, {"x_two": GENERATOR.format(name="same")})
    registry = Registry()
    with pytest.raises(AmbiguousName, match=r"x-one 1.0 and x-two 1.0; write x-one/same or x-two/same"):
        registry.component("generator", "same", {})
    assert registry.component("generator", "x_two/same", {}).dist == "x-two"


def test_one_distribution_that_enters_a_name_twice_is_broken(install):
    install("x-one", "[t2i.metrics]\nm = x_one\nm = x_other\n")
    with pytest.raises(BrokenPlugin, match=r"x-one 1.0 registers metric 'm' 2 times: x_one and x_other"):
        Registry().component("metric", "m", {})


def test_unknown_names_have_a_way_out(install, monkeypatch):
    install("x-one", {"t2i.generators": {"sharpener": "x_one"}, "t2i.metrics": {"x-gone": "x_one"}})
    monkeypatch.setenv("T2I_DISABLE_PLUGINS", "x-gone")
    registry = Registry()
    for kind, spec, part in [
        ("generator", "sharpner", "unknown generator 'sharpner': did you mean 'sharpener'?"),
        ("generator", "nonsense", "unknown generator 'nonsense'; `t2i list-plugins` shows all names"),
        ("metric", "sharpener", "'sharpener' is a generator"),
        ("metric", "x-gone", "'x-gone' is disabled by T2I_DISABLE_PLUGINS"),
        ("generator", "x-two/sharpener", "did you mean 'x-one/sharpener'?"),
    ]:
        with pytest.raises(UnknownName) as caught:
            registry.component(kind, spec, {})
        assert part in str(caught.value)


def test_find_any_reads_kinds_and_arguments(install):
    install("x-one", {"t2i.generators": {"x-same": "x_one"}, "t2i.judges": {"x-same": "x_one"}})
    registry = Registry()
    assert [e.kind for e, _ in registry.find_any("x-same")] == ["generator", "judge"]
    ((entry, argument),) = registry.find_any("judge:x-one/x-same:some:thing")
    assert (entry.kind, argument) == ("judge", "some:thing")
    with pytest.raises(UnknownName, match="unknown component 'x-sane': did you mean 'x-same'"):
        registry.find_any("x-sane")


def test_a_name_in_another_case_is_corrected_if_one_fits(install):
    install(
        "x-one",
        {"t2i.generators": dict.fromkeys(("x-same", "Big", "big"), "x_one"), "t2i.judges": {"Big": "x_one"}},
    )
    install("x-two", {"t2i.judges": {"x-same": "x_two"}})
    registry = Registry()
    for text, kinds, corrected in [
        ("X-Same", ("generator",), "x-same"),
        ("X-One/X-SAME:A=b:C d", ("generator",), "X-One/x-same:A=b:C d"),
        ("X-SAME", ("generator", "judge"), "x-same"),
        ("x-one/X-SAME", ("judge",), "x-one/X-SAME"),
        ("BIG", ("generator",), "BIG"),
        ("BIG", ("judge",), "Big"),
        ("big:A", ("generator",), "big:A"),
        ("X-SANE:x", ("generator",), "X-SANE:x"),
    ]:
        assert registry.correct_case(text, *kinds) == corrected
    ((entry, argument),) = registry.find_any("judge:x-two/X-Same:Some:Thing")
    assert (entry.name, argument) == ("x-same", "Some:Thing")
    with pytest.raises(UnknownName, match="unknown generator 'X-Same'"):
        registry.component("generator", "X-Same", {})
    table = registry.read_options(["X-Same.a=1", "judge:X-SAME.a=2", "BIG.a=3", "big.a=4"])
    assert {key: dict(options) for key, options in table.items()} == {
        "x-same": {"a": "1"}, "judge:x-same": {"a": "2"}, "BIG": {"a": "3"}, "big": {"a": "4"},
    }  # fmt: skip


HOURS_LATER = "import time; clock = time.perf_counter; time.perf_counter = lambda: clock() + 1000"
"""What makes a module seem to take that long, and no test wait."""


@pytest.mark.long
def test_check_loads_each_module_in_its_own_process(install, monkeypatch):
    monkeypatch.setattr(plugin_check, "SLOW", 500.0)  # on a busy machine any import may take seconds
    good = GENERATOR.format(name="good")
    loud = "    import os; os.system('echo loud'); print('loud')" + good
    install("x-good", {"t2i.generators": {"good": "x_good"}}, {"x_good": loud})
    install(
        "x-slow",
        {"t2i.generators": {"slow": "x_slow"}},
        {"x_slow": HOURS_LATER + good.replace("good", "slow").replace("\n    ", "\n")},
    )
    install(
        "x-dies",
        {"t2i.metrics": {"dies": "x_dies"}},
        {"x_dies": "import os; print('last words', flush=True); os._exit(5)"},
    )
    install("x-hangs", {"t2i.metrics": {"hangs": "x_hangs"}}, {"x_hangs": "import time; time.sleep(60)"})
    install("x-exits", {"t2i.metrics": {"exits": "x_exits"}}, {"x_exits": "raise SystemExit"})
    install(
        "x-groups",
        {"t2i.judges": {"j": "x_groups"}, "t2i.judges.segment": {"j": "x_groups"}},
        {
            "x_groups": """
            from t2i_core.api import JudgeInfo, hookimpl
            @hookimpl
            def t2i_judges():
                return [JudgeInfo(name="j", summary="", capabilities={"detect": frozenset()}, create=print)]
            """
        },
    )
    entries = [e for e in Registry().catalogue.entries if e.dist.startswith("x-")]
    found = {c.entry.name: c for c in check_plugins(e for e in entries if e.name != "hangs")}
    found |= {c.entry.name: c for c in check_plugins((e for e in entries if e.name == "hangs"), timeout=2)}
    assert {name: c.status for name, c in found.items()} == {
        "good": "ok",
        "slow": "ok",
        "dies": "broken",
        "hangs": "broken",
        "exits": "broken",
        "j": "broken",
    }
    assert found["slow"].slow
    assert not found["good"].slow
    assert "plugin x-dies 1.0 (x_dies): ended its process with status 5: last words" in found["dies"].error
    assert "still loading after 2 s" in found["hangs"].error
    assert "SystemExit" in found["exits"].error
    assert "registered in t2i.judges." in found["j"].error
    assert not {"x_good", "x_slow"} & set(sys.modules)
