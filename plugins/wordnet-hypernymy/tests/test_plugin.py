from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from t2i_core.testing import MetricContract, PromptSourceContract
from t2i_wordnet_hypernymy.plugin import t2i_metrics, t2i_prompt_sources

MODULE = "t2i_wordnet_hypernymy.plugin"
SOURCES = {info.name: info for info in t2i_prompt_sources()}


def test_every_component_has_its_entry_point_and_every_entry_point_its_component():
    for group, hook in (("t2i.metrics", t2i_metrics), ("t2i.prompt_sources", t2i_prompt_sources)):
        entered = {e.name for e in entry_points(group=group) if e.value == MODULE}
        assert entered == {info.name for info in hook()}


def test_default_prompts_are_among_the_sources():
    assert {info.defaults.prompts for info in t2i_metrics()} - {None} <= SOURCES.keys()


def test_fingerprints_contain_the_file_of_a_users_taxonomy(tmp_path):
    """Its digest is part of what is kept, so that a file that is altered is read again."""
    takers = [i for i in (*t2i_metrics(), *t2i_prompt_sources()) if "taxonomy" in i.options.model_fields]
    assert {"isp", "scs", "specificity", "wordnet-imagenet"} <= {info.name for info in takers}
    for info in takers:
        assert list(info.loading.weights(None, info.options(taxonomy=tmp_path / "own.csv"))) == [
            tmp_path / "own.csv"
        ]


def suites(contract: type[Any], names: Iterable[str], **common: Any) -> None:
    """A suite for each component, under its name."""
    for name in names:
        own = {"__module__": __name__, "module": MODULE, "name": name, **common, **OWN.get(name, {})}
        suite = type(f"Test_{name.replace('-', '_')}", (contract,), own)
        globals()[suite.__name__] = suite


#: What a suite needs beyond its name.
OWN: dict[str, dict[str, Any]] = {
    "lemma-similarity": {"options": {"scale": "cosine"}},
    "wordnet-near-leaf": {"options": {"count": 3}},
    "concepts": {"argument": str(Path(__file__).parent / "concepts.csv")},
    "taxonomy-predictions": {"argument": str(Path(__file__).parent / "concepts.csv")},
    "wordnet-all": {"pytestmark": pytest.mark.slow},
}
ABOVE_LABELS = {"prompts": "wordnet-imagenet", "resolver_parts": (SOURCES["wordnet-imagenet"],)}

OF_LABELS = ("isp", "scs", "synset-is", "hyponym-cosine")

suites(MetricContract, OF_LABELS, **ABOVE_LABELS)
suites(MetricContract, [info.name for info in t2i_metrics() if info.name not in OF_LABELS])
suites(PromptSourceContract, SOURCES)
