"""Images of a run."""

from __future__ import annotations

from t2i_core.api.image import Image
from t2i_core.api.study import Study


def find_image(study: Study, model: str, prompt: str, seed: int) -> Image | None:
    """Return the image of a sample; None if it failed."""
    own = study.samples
    own = own[
        (own["model"] == model) & (own["prompt"] == prompt) & (own["seed"] == seed) & (own["status"] == "ok")
    ]
    return study.images[own.index[0]] if len(own) else None
