"""The judge `laion-aesthetic`: LAION's aesthetic predictors, which are heads on CLIP's embeddings of images.

References:
    Schuhmann et al.: LAION-5B: An open large-scale dataset for training next generation image-text models. NeurIPS
    2022, Section 4 (LAION-Aesthetics).
"""

from __future__ import annotations

from typing import Any

from t2i_core.api import Failure, Query, Reward, Setup
from t2i_core.api.errors import BadModel
from t2i_core.files.digest import digest_file

from t2i_open_clip import aesthetic_head
from t2i_open_clip.embedder import Embedder
from t2i_open_clip.options import AestheticOptions


class AestheticRewarder(Embedder):
    """Scores an image by a linear head on its normalised embedding. The text of a query plays no part."""

    def __init__(self, setup: Setup[AestheticOptions]) -> None:
        options = setup.options
        spec = aesthetic_head.describe(setup.argument)
        file = aesthetic_head.fetch(setup.argument, options, setup.offline)
        self._weight, self._bias = aesthetic_head.load_affine_map(file, spec)
        super().__init__(aesthetic_head.make_clip_setup(setup))
        width = getattr(self._network.visual, "output_dim", None)  # towers of other libraries have none
        if width is not None and len(self._weight) != width:
            raise BadModel(
                f"{spec}: the head in {file} reads {len(self._weight)} values, but the embeddings of "
                f"{options.clip} have {width}"
            )
        self._fixed.update(version=options.version, head=str(file), head_sha256=digest_file(file))

    def _answers(self, queries: list[Query]) -> list[Any]:
        asked = {query.images[0].identity: query for query in queries if len(query.images) == 1}
        vectors = dict(zip(asked, self._images(list(asked.values())), strict=True))
        answers: list[Reward | Failure] = []
        for query in queries:
            if len(query.images) != 1:
                answers.append(Failure(f"a reward is of one image, not of {len(query.images)}", final=True))
                continue
            vector = vectors[query.images[0].identity].double()
            answers.append(Reward(float(self._weight @ (vector / vector.norm()) + self._bias)))
        return answers
