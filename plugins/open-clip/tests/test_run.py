"""The judge in an evaluation: a reward that core makes of its vectors, each text embedded once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import open_clip
import pytest
from t2i_core import evaluate
from t2i_core.api import Measure, Metric, MetricInfo, Need, Row
from t2i_core.testing import TEST_MODEL


class MeanReward(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("cosine", unit.one().one("reward").value)


METRIC = MetricInfo(name="cosine", summary="Cosine.", create=MeanReward, measures=(Measure("cosine", "Cosine."),))


def test_each_text_is_embedded_once(tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a dog\na crane\n")
    encode, texts = open_clip.CLIP.encode_text, []

    def counted(self: Any, tokens: Any, normalize: bool) -> Any:
        texts.append(len(tokens))
        return encode(self, tokens, normalize)

    monkeypatch.setattr(open_clip.CLIP, "encode_text", counted)
    run = evaluate(
        METRIC, TEST_MODEL, prompts=str(prompts), judge=f"open-clip:{tiny_clip}", seeds=3, out=tmp_path / "run",
        offline=True, device="cpu", batch_size=2,
    )  # fmt: skip
    (result,) = run.results
    assert (result.n_ok, result.n_failed) == (6, 0)
    assert -1 <= result.score <= 1
    assert sum(texts) == 2


@pytest.mark.long
def test_texts_that_are_cut_are_told_with_the_score_however_often(
    tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run asks the judge nothing: it is the answers that say it."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    prompts = tmp_path / "prompts.txt"
    prompts.write_text(f"a dog\n{'dog ' * 90}\n")
    for out in ("first", "second"):
        run = evaluate(
            "clipscore", TEST_MODEL, prompts=str(prompts), judge=f"open-clip:{tiny_clip}", seeds=3,
            out=tmp_path / out, offline=True, device="cpu",
        )  # fmt: skip
        (result,) = run.results
        assert result.n_ok == 6
        (said,) = (note for note in result.notes if "tokens" in note)
        assert said.startswith("3 samples: the text is longer than the 77 tokens that the judge reads")
