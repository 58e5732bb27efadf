from __future__ import annotations

import sys

import pytest
from t2i_core.api.errors import BrokenPlugin, NoJudge, UnknownName
from t2i_core.api.plugin_info import PHOTOGRAPHS, Domain
from t2i_core.api.resolver import split_judge
from t2i_registry import Registry

WORLD = Domain("world", "A world.")


def source(name: str, capabilities: dict[str, set[str]], domain: str = "world", more: str = "") -> str:
    return f"""
from t2i_core.api import Domain, JudgeInfo, hookimpl

@hookimpl
def t2i_judges():
    return [
        JudgeInfo(
            name={name!r}, summary="", create=print, domain=Domain({domain!r}, ""), {more}
            capabilities={{k: frozenset(v) for k, v in {capabilities!r}.items()}},
        )
    ]
"""


@pytest.fixture
def judge(install):
    def put(name, capabilities, domain="world", more="", text=None):
        if not isinstance(capabilities, dict):
            capabilities = {c: set() for c in capabilities}
        module = f"x_{name}".replace("-", "_")
        groups = {f"t2i.judges.{c}": {name: module} for c in capabilities}
        install(
            f"x-{name}",
            {"t2i.judges": {name: module}, **groups},
            {module: text if text is not None else source(name, capabilities, domain, more)},
        )

    return put


def choose(capability="segment", requires=(), asked=(), preferred=(), domain=WORLD, options=None):
    return Registry().choose_judge(capability, frozenset(requires), asked, preferred, domain, options or {})


def test_the_only_judge_of_the_domain_is_taken(judge):
    judge("one", ["segment"])
    judge("photo", ["segment"], domain="photographs")
    choice = choose()
    assert (choice.judge.spec, choice.chain) == ("one", ())
    assert choice.why == "the only installed judge of world that can serve segment of world"
    assert choose(domain=PHOTOGRAPHS).judge.spec == "photo"


def test_only_judges_entered_for_the_capability_are_imported(judge):
    judge("one", ["segment"])
    judge("other", ["caption"], text="raise RuntimeError")
    assert choose().judge.spec == "one"
    assert "x_other" not in sys.modules


def test_adapters_lead_upwards(judge):
    judge("one", ["segment"])
    choice = choose("detect")
    assert [a.offered for a in choice.chain] == ["segment"]
    assert choice.why.endswith("; detect from segment")
    judge("vectors", ["embed"])
    choice = choose("prefer")
    assert [a.offered for a in choice.chain] == ["reward", "embed"]
    assert "prefer from reward from embed (" in choice.why
    with pytest.raises(NoJudge, match="no installed judge offers caption"):
        choose("caption")


def test_several_are_not_guessed_among(judge):
    judge("one", ["segment"])
    judge("two", ["segment", "detect"])
    with pytest.raises(NoJudge, match=r"one, two; choose one with --judge segment=NAME"):
        choose()


def test_requirements_are_checked(judge):
    judge("poor", {"segment": set()})
    judge("rich", {"segment": {"class_probs", "colour"}})
    assert choose(requires={"class_probs"}).judge.spec == "rich"
    with pytest.raises(
        NoJudge,
        match=r"no judge for segment with depth of world: 'poor' \(x-poor\) gives segment without depth; 'rich'",
    ):
        choose(requires={"depth"})


def test_a_capability_that_gives_more_serves_where_the_nearer_does_not(judge):
    judge("both", {"detect": set(), "segment": {"class_probs"}})
    assert choose("detect").chain == ()
    assert [a.offered for a in choose("detect", requires={"class_probs"}).chain] == ["segment"]


def test_preferences_in_order(judge):
    judge("one", ["segment"])
    judge("two", ["segment"])
    preferred = [("absent", "the metric's choice for photographs"), ("two", "the domain's choice")]
    choice = choose(preferred=preferred)
    assert choice.judge.spec == "two"
    assert choice.why == (
        "the domain's choice; no installed plugin offers 'absent' (the metric's choice for photographs)"
    )
    with pytest.raises(NoJudge, match=r"several judges"):
        choose(preferred=preferred[:1])


def test_a_preferred_judge_that_is_broken_is_not_passed_over(judge):
    judge("one", ["segment"])
    judge("bad", ["segment"], text="raise RuntimeError('no')")
    assert choose().judge.spec == "one"
    with pytest.raises(BrokenPlugin, match=r"plugin x-bad 1.0 \(x_bad\)"):
        choose(preferred=[("bad", "the metric's choice")])


def test_the_truth_is_read_only_where_asked_for(judge):
    judge("oracle", ["segment"], more="reads_truth=True,")
    with pytest.raises(NoJudge, match=r"'oracle' reads the ground truth and is used only on request"):
        choose(preferred=[("oracle", "the domain's choice")])
    choice = choose(asked=["oracle"])
    assert (choice.judge.spec, choice.why) == ("oracle", "asked for with --judge oracle")


def test_the_users_word_goes_first(judge):
    judge("one", ["segment"])
    judge("photo", ["segment", "embed"], domain="photographs")
    preferred = [("one", "the domain's choice")]
    choice = choose(asked=["photo"], preferred=preferred)
    assert choice.why == "asked for with --judge photo; made for photographs, not for world"
    assert choose(asked=["one", "segment=photo"]).judge.spec == "photo"
    # a word about another capability leaves this one alone
    assert choose(asked=["embed=photo"], preferred=preferred).judge.spec == "one"


def test_arguments_may_contain_equals_signs(judge):
    judge("file", ["segment"], more='argument="a file",')
    for word in ("file:a=b.csv", "segment=file:a=b.csv"):
        assert choose(asked=[word]).judge.argument == "a=b.csv"


@pytest.mark.parametrize(
    ("word", "capability", "name"),
    [
        ("one", None, "one"),
        ("segment=one", "segment", "one"),
        ("x-one/one:a=b", None, "x-one/one:a=b"),
        ("segment=x-one/one:a=b", "segment", "x-one/one:a=b"),
        ("=one", None, "=one"),
    ],
)
def test_a_word_is_split_at_its_capability(word, capability, name):
    assert split_judge(word) == (capability, name)


def test_a_judge_asked_for_that_cannot_is_an_error(judge):
    judge("one", ["segment"])
    judge("words", ["caption"])
    judge("poor", {"segment": set()})
    with pytest.raises(
        NoJudge, match=r"--judge \S+ cannot be used for segment of world: 'words' \(x-words\) offers caption"
    ):
        choose(asked=["segment=words"])
    with pytest.raises(NoJudge, match=r"--judge \S+ cannot be used for segment with depth of world: 'poor'"):
        choose(asked=["poor"], requires={"depth"})
    with pytest.raises(UnknownName, match="unknown judge 'onne': did you mean 'one'"):
        choose(asked=["onne"])
    # it may be meant for another need
    assert choose(asked=["words"], preferred=[("one", "the domain's choice")]).judge.spec == "one"


def test_a_misspelt_preference_is_suggested_first(judge):
    judge("mask-large", ["segment"], domain="photographs")
    with pytest.raises(
        NoJudge, match=r": no installed plugin offers 'mask-lage' .*: did you mean 'mask-large'\? "
    ):
        choose(preferred=[("mask-lage", "the file names it")])


def test_candidates_that_cannot_be_made_are_named(judge):
    judge("hub", ["segment"], more='argument="a repository", needs_argument=True,')
    judge("bad", ["segment"], text="import sys; sys.exit(1)")
    judge("photo", ["segment"], domain="photographs")
    with pytest.raises(NoJudge) as caught:
        choose(preferred=[("yolo", "the metric's choice for photographs")])
    message = str(caught.value)
    assert message.startswith("no judge for segment of world: ")
    assert "no installed plugin offers 'yolo' (the metric's choice for photographs)" in message
    assert "'hub' (x-hub) cannot be used: judge 'hub' needs an argument" in message
    assert "'bad' (x-bad) cannot be used: plugin x-bad 1.0 (x_bad): does not import: SystemExit" in message
    assert "'photo' (x-photo) judges photographs" in message


def test_clashing_candidates_are_ignored(judge, install):
    judge("one", ["segment"])
    install(
        "x-far",
        {"t2i.judges": {"one": "x_far"}, "t2i.judges.segment": {"one": "x_far"}},
        {"x_far": source("one", {"segment": set()}, domain="photographs")},
    )
    assert choose().judge.spec == "x-one/one"
