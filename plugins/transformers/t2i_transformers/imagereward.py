"""The judge `imagereward`: ImageReward with its published weights, on transformers' BLIP."""

from __future__ import annotations

import torch
import transformers
from t2i_core.api import Failure, Query, Reward, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability
from t2i_core.api.text import describe_error
from t2i_core.files.digest import digest_file
from t2i_torch_support.device import select_device
from torchvision.transforms import CenterCrop, Compose, InterpolationMode, Normalize, Resize, ToTensor
from transformers import BertTokenizer

from . import checkpoints, imagereward_files
from .checkpoints import CheckpointPlace
from .imagereward_files import ImageRewardFiles
from .imagereward_network import ImageRewardNetwork, load_network
from .judge import Features, TransformersJudge, run_in_groups
from .loaded_checkpoint import LoadedCheckpoint, hide_reports
from .options import ImageRewardOptions, precision
from .truncation import TruncationLog

_ON_GPU, _ELSEWHERE = 64, 8
_LENGTH = 35
"""Number of tokens of a text that ImageReward reads."""
_CLIP_MEAN, _CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
"""Mean and standard deviation of the colours by which images are normalised, as CLIP's."""


class ImageRewarder(TransformersJudge):
    """Scores an image for a text with ImageReward.

    The short side of the image is resized to the network's size (224), and the centre is cropped. A text of more
    than 35 tokens is truncated, with a warning, and its reward records that. Every text is padded to that length,
    so that results do not depend on the batch up to rounding.
    """

    def __init__(
        self, setup: Setup[ImageRewardOptions], place: CheckpointPlace, tokenizer: CheckpointPlace | None
    ) -> None:
        super().__init__(_load(setup, place, tokenizer), setup, _ON_GPU, _ELSEWHERE)
        size: int = self.loaded.network.vision.config.image_size
        self._preprocess = Compose(
            [
                Resize(size, InterpolationMode.BICUBIC),
                CenterCrop(size),
                ToTensor(),
                Normalize(_CLIP_MEAN, _CLIP_STD),
            ]
        )
        self._truncation = TruncationLog(_LENGTH)

    def answers(self, capability: Capability, queries: list[Query]) -> list[Reward | Failure]:
        """Answer a batch: each of its images is encoded once."""
        asked = [query for query in queries if len(query.images) == len(query.texts) == 1]
        images = {query.images[0].identity: query.images[0] for query in asked}
        prepared = [{"pixels": self._preprocess(image.pil())[None]} for image in images.values()]
        encoded = dict(zip(images, run_in_groups(prepared, self._encode), strict=True))
        tokens = [
            {**self._tokens(query.texts[0]), "image_tokens": encoded[query.images[0].identity]} for query in asked
        ]
        values = iter(run_in_groups(tokens, self._score))
        answers: list[Reward | Failure] = []
        for query in queries:
            if len(query.images) == len(query.texts) == 1:
                length = len(self.loaded.processor(query.texts[0]).input_ids)
                answers.append(Reward(next(values), self._truncation.check_length(query.texts[0], length)))
            else:
                shape = f"{len(query.images)} images and {len(query.texts)} texts"
                answers.append(Failure(f"{capability} cannot be answered for {shape}", final=True))
        return answers

    def _tokens(self, text: str) -> dict[str, torch.Tensor]:
        found = self.loaded.processor(
            text, padding="max_length", truncation=True, max_length=_LENGTH, return_tensors="pt"
        )
        return {"input_ids": found.input_ids, "attention_mask": found.attention_mask}

    def _encode(self, features: Features) -> list[torch.Tensor]:
        with torch.inference_mode():
            return list(self.loaded.network.encode_images(**self.loaded.inputs(features)).split(1))

    def _score(self, features: Features) -> list[float]:
        with torch.inference_mode():
            found: list[float] = self.loaded.network.score(**self.loaded.inputs(features)).tolist()
        return found


def _load(
    setup: Setup[ImageRewardOptions], place: CheckpointPlace, tokenizer: CheckpointPlace | None
) -> LoadedCheckpoint:
    files = imagereward_files.fetch(place, tokenizer, setup.options.sha256, setup.offline)
    device = select_device(setup.device)
    dtype: torch.dtype = getattr(
        torch, precision(device.type) if setup.options.dtype == "auto" else setup.options.dtype
    )
    network, processor = load_parts(files, dtype, place.spec)
    return LoadedCheckpoint(
        network.eval().requires_grad_(False).to(device),
        processor,
        device,
        dtype,
        {
            "checkpoint": place.name,
            "commit": checkpoints.commit(place, setup.offline),
            "sha256": digest_file(files.weights),
            "architecture": type(network).__name__,
            "processor_of": (tokenizer or place).name,
            "context_length": _LENGTH,
            "dtype": str(dtype).removeprefix("torch."),
            "device": str(device),
            "transformers": transformers.__version__,
        },
    )


def load_parts(files: ImageRewardFiles, dtype: torch.dtype, spec: str) -> tuple[ImageRewardNetwork, BertTokenizer]:
    """Return the network on torch's default device, and its tokenizer.

    Args:
        files: The checkpoint's files.
        dtype: Precision of both encoders.
        spec: The component as the user named it, for messages.

    Raises:
        BadModel: A file cannot be read, or they do not belong together.
    """
    network = load_network(files, dtype, spec)
    return network, _load_tokenizer(files, network.text.config.vocab_size, spec)


def _load_tokenizer(files: ImageRewardFiles, size: int, spec: str) -> BertTokenizer:
    """Return BERT's tokenizer with BLIP's two tokens, which are the last of the encoder's `size` tokens."""
    try:
        with hide_reports():
            tokenizer: BertTokenizer = BertTokenizer.from_pretrained(files.tokenizer, local_files_only=True)
    except Exception as error:  # of many types: files that are missing or damaged
        raise BadModel(
            f"{spec}: its tokenizer cannot be loaded from {files.tokenizer} ({describe_error(error)})"
        ) from error
    tokenizer.add_tokens(["[DEC]", "[ENC]"], special_tokens=True)
    if len(tokenizer) != size:
        raise BadModel(
            f"{spec}: the tokenizer in {files.tokenizer} has {len(tokenizer)} tokens with [DEC] and [ENC], but "
            f"the text encoder has {size}; set `processor` to the tokenizer that the model was trained with"
        )
    return tokenizer
