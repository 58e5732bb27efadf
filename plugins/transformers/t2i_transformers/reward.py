"""The judge that scores and embeds images and texts with CLIP and SigLIP of transformers, such as PickScore."""

from __future__ import annotations

import torch
from t2i_core.api import Embedding, Failure, Query, Reward, Setup
from t2i_core.api.judge import Capability

from . import loaded_checkpoint
from .checkpoints import CheckpointPlace
from .judge import Features, TransformersJudge, run_in_groups
from .options import RewardJudgeOptions
from .truncation import TruncationLog

_ON_GPU, _ELSEWHERE = 64, 16


class Rewarder(TransformersJudge):
    """Scores an image for a text, and embeds images and texts.

    The reward is the cosine of image and text times the model's scale, plus SigLIP's bias. Vectors are not
    normalised. A text that exceeds the model's maximum length is truncated, with a warning, and its reward and its
    embedding record the number of tokens read. Every text is padded to the maximum length, so that results do not
    depend on the batch up to rounding.
    """

    def __init__(
        self, setup: Setup[RewardJudgeOptions], place: CheckpointPlace, processor: CheckpointPlace | None = None
    ) -> None:
        super().__init__(
            loaded_checkpoint.load(setup, place, "AutoModel", "AutoProcessor", processor),
            setup,
            _ON_GPU,
            _ELSEWHERE,
        )
        network = self.loaded.network
        self._tokenizer = self.loaded.processor.tokenizer
        self._length: int = network.config.text_config.max_position_embeddings
        self._scale = float(network.logit_scale.float().exp())
        self._bias = float(network.logit_bias.float()) if hasattr(network, "logit_bias") else 0.0
        self._truncation = TruncationLog(self._length)
        self.loaded.settings.update(
            logit_scale=self._scale,
            logit_bias=self._bias,
            context_length=self._length,
            processor_of=processor.name if processor else place.name,
        )

    def answers(self, capability: Capability, queries: list[Query]) -> list[Reward | Embedding | Failure]:
        """Answer a batch: each of its images and texts is embedded once."""
        images = {image.identity: image for query in queries for image in query.images}
        texts = list(dict.fromkeys(text for query in queries for text in query.texts))
        prepared = [self.loaded.processor.image_processor(i.pil(), return_tensors="pt") for i in images.values()]
        of_image = dict(zip(images, run_in_groups(prepared, self._images), strict=True))
        of_text = dict(zip(texts, run_in_groups([self._tokens(text) for text in texts], self._texts), strict=True))
        lengths = {text: len(self._tokenizer(text).input_ids) for text in texts}
        cut_to = {text: self._truncation.check_length(text, length) for text, length in lengths.items()}
        answers: list[Reward | Embedding | Failure] = []
        for query in queries:
            vectors = [*(of_image[i.identity] for i in query.images), *(of_text[t] for t in query.texts)]
            if capability == "embed" and len(vectors) == 1:
                answers.append(Embedding(vectors[0].numpy(), cut_to[query.texts[0]] if query.texts else None))
            elif capability == "reward" and len(query.images) == len(query.texts) == 1:
                image, text = (v.double() for v in vectors)
                cosine = torch.cosine_similarity(image, text, dim=0, eps=0)
                answers.append(Reward(self._scale * float(cosine) + self._bias, cut_to[query.texts[0]]))
            else:
                asked = f"{len(query.images)} images and {len(query.texts)} texts"
                answers.append(Failure(f"{capability} cannot be answered for {asked}", final=True))
        return answers

    def _tokens(self, text: str) -> Features:
        tokens: Features = self._tokenizer(
            text, padding="max_length", max_length=self._length, truncation=True, return_tensors="pt"
        )
        return tokens

    def _images(self, features: Features) -> list[torch.Tensor]:
        with torch.inference_mode():
            found = self.loaded.network.get_image_features(**self.loaded.inputs(features)).pooler_output
        return list(found.float().cpu())

    def _texts(self, features: Features) -> list[torch.Tensor]:
        with torch.inference_mode():
            found = self.loaded.network.get_text_features(**self.loaded.inputs(features)).pooler_output
        return list(found.float().cpu())
