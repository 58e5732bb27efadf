"""Model cards: the hub's own parser reads a run's scores, and what others wrote stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from t2i_core.api import Setup
from t2i_core.api.errors import BadFolder, BadOption, UnknownName
from t2i_core.api.progress import Silent
from t2i_core.results.run import Run
from t2i_trackers import plugin
from t2i_trackers.model_card import FOLDER, ModelCards
from t2i_trackers.options import CardOptions
from t2i_trackers.outcome import list_outcomes

CARD = """---
license: openrail
tags:
- ours
model-index:
- name: ours
  results:
  - task: {type: text-to-image}
    dataset: {type: coco, name: COCO}
    metrics: [{type: fid, value: 8.5}]
---

# Ours

Text that stays.
"""


def write(run: Run, card: Path | None = None, **options: object) -> None:
    ModelCards(Setup(None if card is None else str(card), CardOptions(**options))).write(run, Silent())


def test_new_cards_have_the_scores(run: Run) -> None:
    write(run)
    for outcome in list_outcomes(run):
        text = (run.folder / FOLDER / f"{outcome.file_name}.md").read_text()
        card = ModelCard(text)
        (found,) = card.data.eval_results
        (result,) = outcome.results
        assert card.data.model_name == outcome.label
        assert (found.metric_type, found.metric_value) == ("bright", result.score)
        assert found.metric_args["interval"] == list(result.ci)
        assert found.metric_args["signature"] == result.signature
        assert "<script>" not in card.text.replace("\\<", "")
        assert "| bright |" in card.text
        heading = next(line for line in card.text.splitlines() if line.startswith("|"))
        assert r"value \[low, high\]" in heading
        assert not re.search(r"\b(lo|hi|n_\w+)\b", heading)


def test_a_card_keeps_its_text_and_other_results(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(CARD)
    for _ in range(2):
        write(run, file, model="plain")
    card = ModelCard.load(file)
    assert card.text.strip() == "# Ours\n\nText that stays."
    assert (card.data.license, card.data.tags, card.data.model_name) == ("openrail", ["ours"], "ours")
    assert [each.metric_type for each in card.data.eval_results] == ["fid", "bright"]
    assert card.data.eval_results[1].metric_value == run.results[0].score


def test_evaluation_results_are_read_by_the_hubs_parser(run: Run) -> None:
    write(run, benchmark="somebody/prompts", task="colours")
    for outcome in list_outcomes(run):
        file = run.folder / FOLDER / f"{outcome.file_name}.yaml"
        (entry,) = parse_eval_result_entries(yaml.safe_load(file.read_text()))
        assert (entry.dataset_id, entry.task_id) == ("somebody/prompts", "colours")
        assert entry.value == outcome.results[0].score
        assert str(outcome.results[0].signature) in str(entry.notes)
    write(run)
    assert not list((run.folder / FOLDER).glob("*.yaml"))


def test_a_card_is_of_one_model(run: Run, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(CARD)
    with pytest.raises(BadOption):
        write(run, tmp_path / "README.md")
    with pytest.raises(UnknownName):
        write(run, model="plane")


@pytest.mark.parametrize("text", [None, "no metadata at all: [", "---\nmodel-index: 7\n---\n", "---\n[1\n---\n"])
def test_a_bad_card_stays_as_it_is(run: Run, tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "README.md"
    if text is not None:
        file.write_text(text)
    if text == "no metadata at all: [":  # a card without metadata gets some
        write(run, file, model="plain")
        assert ModelCard.load(file).text.strip() == text
        return
    with pytest.raises(BadFolder) as caught:
        write(run, file, model="plain")
    assert str(file) in str(caught.value)
    assert text is None or file.read_text() == text


@pytest.mark.parametrize(("card", "missing"), [("gone/x.md", "the folder gone"), ("x.md", "x.md: does not exist")])
def test_a_card_that_does_not_exist_is_not_blamed_on_yaml(card: str, missing: str) -> None:
    with pytest.raises(BadFolder) as caught:
        plugin._check_card(Setup(card, CardOptions()))
    assert missing in str(caught.value)
    assert "YAML" not in str(caught.value)
