"""Every metric says what its scores mean and where they mislead; default judges say how good they are."""

import re
from pathlib import Path

import pytest
from t2i_core.api.plugin_info import GeneratorInfo, MetricInfo
from t2i_registry import Registry
from t2i_registry.component_lookup import Description

REGISTRY = Registry()
OURS = {f"t2i-{folder.name}" for folder in Path(__file__).parents[1].joinpath("plugins").iterdir()}
ENTRIES = [entry for entry in REGISTRY.catalogue.entries if entry.dist in OURS]
METRICS = {entry.name: REGISTRY.describe(entry) for entry in ENTRIES if entry.kind == "metric"}
#: Default judges that nobody measured, as far as we know: pages say so. Others must say how good they are.
NOT_MEASURED = {
    "blip-large",
    "blip-vqa",
    "clip-flant5-xxl",
    "clip-vit-l14",
    "clip-vit-l14-336",
    "detr-resnet50",
    "inception-v3",
    "mask2former-swin-small-pairs",
    "qwen3-vl-8b",
    "transformers-classifier",
}
#: A metric of a user's own file, and a count of words.
WITHOUT_PAPER = {"yaml", "text-rendering"}
_ENTRY = re.compile(r"@(?P<kind>[a-z]+)\{(?P<key>[a-z0-9]+),\n(?P<fields>(?:.|\n)*?)\n\}(?:\n|$)")
_FIELD = re.compile(r"  (?P<name>[a-zA-Z]+) = \{(?P<value>(?:[^{}]|\{[^{}]*\})*)\},?(?:\n|$)")


def count_sentences(text: str) -> int:
    return len(re.findall(r"[.?!](?:\s|$)", text))


def parse(bibtex: str) -> list[dict[str, str]]:
    """Return the fields of each entry; fail if anything is left over."""
    entries = list(_ENTRY.finditer(bibtex))
    assert _ENTRY.sub("", bibtex) == ""
    parsed = []
    for entry in entries:
        text = entry["fields"]
        assert _FIELD.sub("", text) == "", text
        fields = {field["name"]: field["value"] for field in _FIELD.finditer(text)}
        parsed.append({"kind": entry["kind"], "key": entry["key"]} | fields)
    return parsed


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_says_what_it_means_and_where_it_misleads(name: str) -> None:
    about = METRICS[name].info.about
    assert 1 <= count_sentences(about.meaning) <= 2, about.meaning
    assert len(about.meaning) <= 320, len(about.meaning)
    assert about.limits.endswith(".")
    assert len(about.limits) <= 500, len(about.limits)


@pytest.mark.parametrize("name", [name for name in METRICS if name not in WITHOUT_PAPER])
def test_a_metric_of_a_paper_has_its_entry(name: str) -> None:
    about = METRICS[name].info.about
    entries = parse(about.bibtex)
    assert entries
    for entry in entries:
        assert {"title", "author", "year"} <= entry.keys()
        assert "booktitle" in entry if entry["kind"] == "inproceedings" else "journal" in entry
        family = re.sub(r"[{}\\'\"]", "", entry["author"].split(",")[0])
        assert family in about.citation.replace("ń", "n").replace("ä", "a") or len(entries) > 1
    (arxiv,) = re.findall(r"arXiv:(\d+\.\d+)", about.citation)[:1] or [""]
    assert arxiv in about.bibtex


def list_default_judges() -> dict[str, Description]:
    """Return the judges that metrics take by default, for photographs and for every generator's domain."""
    metrics = [one.info for one in METRICS.values() if isinstance(one.info, MetricInfo)]
    names = {name for metric in metrics for name in metric.defaults.judges.values()}
    for entry in ENTRIES:
        if entry.kind == "generator" and isinstance(info := REGISTRY.describe(entry).info, GeneratorInfo):
            names |= set(info.domain.judges.values())
            names |= {name for own in info.domain.metrics.values() for name in own.judges.values()}
    found = {name.partition(":")[0] for name in names}
    return {name: REGISTRY.describe(REGISTRY.find("judge", name)) for name in found}


def test_a_default_judge_says_how_good_it_is_or_is_known_not_to_be_measured() -> None:
    judges = list_default_judges()
    assert {name for name, judge in judges.items() if not judge.info.about.quality} == NOT_MEASURED
