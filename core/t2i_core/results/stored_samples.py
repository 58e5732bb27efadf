"""The samples of a stored run, as its metrics had them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..api.errors import BadFolder
from ..api.metric_input import Sample
from .run import Run


def list_samples(run: Run) -> Iterator[Sample]:
    """Yield each sample of a run that has an image.

    Raises:
        BadFolder: If the run does not have the prompt of a sample, or is of an earlier version, which kept none.
    """
    prompts = {prompt.id: prompt for prompt in run.prompts()}
    samples, images = run.samples(), run.images()
    row: Any
    for row in samples[samples["status"] == "ok"].itertuples():
        if (prompt := prompts.get(row.prompt)) is None:
            raise BadFolder(
                f"{run.path}: does not keep the prompt {row.prompt!r}, because it is without text, or two metrics "
                "have different prompts of this id; evaluate them one by one"
            )
        yield Sample(row.model, prompt, int(row.seed), images[row.Index])
