"""The judges `clip-flant5-xl` and `clip-flant5-xxl`: CLIP-FlanT5, with which VQAScore was published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import transformers
from PIL import Image as PILImage
from t2i_core.api import Failure, Query, QuestionAnswer, Setup, VisualQuestion
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability
from t2i_core.api.text import describe_error
from t2i_torch_support.device import select_device
from transformers import AutoTokenizer, CLIPImageProcessor
from transformers.modeling_outputs import BaseModelOutput

from . import checkpoints, pickled_weights
from .answer_likelihood import Tokens, encode_words, find_spellings, geometric_mean, score_spellings, sum_spellings
from .checkpoints import CheckpointPlace
from .clip_flant5_network import ClipFlanT5Network, build_network
from .decoder_answers import EncodedQuestion, read_following, read_text, stack_questions
from .generation_settings import configure_search
from .judge import Features, TransformersJudge, run_in_groups
from .loaded_checkpoint import LoadedCheckpoint, hide_reports
from .options import ClipFlanT5Options, precision
from .question_prompts import is_yes_no, write_words

_ON_GPU, _ELSEWHERE = 16, 4
_LENGTH = 2048
"""Number of tokens of a question that the model was trained to read, the image counted as one."""

_BEFORE_IMAGE = (
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
    "detailed, and polite answers to the user's questions. USER: "
)
_AFTER_IMAGE = "\n{} ASSISTANT: "
"""Texts that T5 reads around the image; the words of VQAScore."""


@dataclass(frozen=True)
class _Question:
    """One question: the tokens before and after the image, and the identity of the image."""

    before: Tokens
    after: Tokens
    image: str


class ClipFlanT5Answerer(TransformersJudge):
    """Answers questions about one image with CLIP-FlanT5.

    For yes and no, the probability of yes is VQAScore: the geometric mean of the probabilities of `Yes` and of the
    end of the answer. That of no is the rest, because two geometric means may sum to more than 1. For other
    choices, the probability is that of the whole answer with its end.

    Each image is encoded once, for all questions about it in a batch and at the start of the next. Questions are
    padded on the right and masked. Results do not depend on the batch up to rounding.
    """

    def __init__(
        self, setup: Setup[ClipFlanT5Options], place: CheckpointPlace, tokenizer: CheckpointPlace
    ) -> None:
        super().__init__(_load(setup, place, tokenizer), setup, _ON_GPU, _ELSEWHERE)
        self._options = setup.options
        network: ClipFlanT5Network = self.loaded.network
        self._tokenizer = self.loaded.processor
        size = network.tower.config.image_size
        self._image_processor = CLIPImageProcessor(
            size={"shortest_edge": size}, crop_size={"height": size, "width": size}
        )
        self._ground = tuple(int(255 * mean) for mean in self._image_processor.image_mean)
        self._images: dict[str, torch.Tensor] = {}
        self.loaded.settings["search"] = configure_search(network.text, 1, setup.options.max_tokens)

    def answers(self, capability: Capability, queries: list[Query]) -> Sequence[QuestionAnswer | Failure]:
        """Answer a batch of questions."""
        answers: dict[int, QuestionAnswer | Failure] = {}
        spelt: dict[int, list[list[Tokens]]] = {}
        free: list[int] = []
        written: dict[int, _Question] = {}
        for number, query in enumerate(queries):
            question = VisualQuestion.of(query)
            try:
                written[number] = self._write(query, question)
                if question.choices:
                    spelt[number] = self._spell(question)
                else:
                    free.append(number)
            except ValueError as error:
                answers[number] = Failure(str(error), final=True)
        asked = [*free, *spelt]
        self._see([queries[number] for number in asked])
        encoded = dict(zip(asked, self._encode([written[number] for number in asked]), strict=True))
        answers |= zip(free, self._generate([encoded[number] for number in free]), strict=True)
        closed = [encoded[number] for number in spelt]

        def read(pairs: Sequence[tuple[int, Tokens]]) -> list[torch.Tensor]:
            start = self.loaded.network.text.config.decoder_start_token_id
            return read_following(self._decode, start, [closed[n] for n, _ in pairs], [b for _, b in pairs])

        found = score_spellings(list(spelt.values()), read, self._batches.size)
        for (number, spellings), scores in zip(spelt.items(), found, strict=True):
            question = VisualQuestion.of(queries[number])
            probs = np.array(sum_spellings(spellings, scores))
            chosen = int(probs.argmax())
            if is_yes_no(question):
                score = geometric_mean(scores[spellings[0][0]])
                probs = np.array([score, 1 - score])
            answers[number] = QuestionAnswer(question.choices, chosen, probs)
        return [answers[number] for number in range(len(queries))]

    def _write(self, query: Query, question: VisualQuestion) -> _Question:
        """Return the tokens of a question.

        Raises:
            ValueError: It is not about one image, or it is too long.
        """
        if len(query.images) != 1:
            raise ValueError("this model takes questions about one image only")
        after = _AFTER_IMAGE.format(write_words(question, self._options))
        # each part with its own end, as the model was trained
        parts = [tuple(self._tokenizer(text).input_ids) for text in (_BEFORE_IMAGE, after)]
        if (length := sum(map(len, parts)) + 1) > _LENGTH:
            raise ValueError(f"the question has {length} tokens; this model reads {_LENGTH}")
        return _Question(parts[0], parts[1], query.images[0].identity)

    def _spell(self, question: VisualQuestion) -> list[list[Tokens]]:
        """Return the tokens of each choice with the end of the answer."""
        if is_yes_no(question):
            words = (self._options.yes, self._options.no)
            return [[tokens] for tokens in encode_words(words, self._encode_answer)]
        return find_spellings(question.choices, self._encode_answer)

    def _encode_answer(self, text: str) -> Tokens:
        tokens = tuple(self._tokenizer(text, add_special_tokens=False).input_ids)
        return (*tokens, self._tokenizer.eos_token_id) if tokens else ()

    def _see(self, queries: Sequence[Query]) -> None:
        """Encode the images that are not encoded yet, and forget those that are not asked for."""
        images = {query.images[0].identity: query.images[0] for query in queries}
        new = {digest: image for digest, image in images.items() if digest not in self._images}
        pixels = [{"pixels": self._preprocess(image.pil())} for image in new.values()]
        seen = dict(zip(new, run_in_groups(pixels, self._encode_images), strict=True))
        self._images = {digest: (self._images | seen)[digest] for digest in images}

    def _preprocess(self, image: PILImage.Image) -> torch.Tensor:
        """Return an image on a square of the mean colour, normalised; shape (1, 3, size, size)."""
        image = image.convert("RGB")
        side = max(image.size)
        square = PILImage.new("RGB", (side, side), self._ground)
        square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
        pixels: torch.Tensor = self._image_processor(square, return_tensors="pt")["pixel_values"]
        return pixels

    def _encode_images(self, features: Features) -> list[torch.Tensor]:
        with torch.inference_mode():
            return list(self.loaded.network.encode_images(**self.loaded.inputs(features)))

    def _encode(self, questions: Sequence[_Question]) -> list[EncodedQuestion]:
        """Return questions with their images, encoded in one batch."""
        if not questions:
            return []
        embed, device = self.loaded.network.text.shared, self.loaded.device
        with torch.inference_mode():
            rows = []
            for question in questions:
                before, after = (torch.tensor(part, device=device) for part in (question.before, question.after))
                tokens = torch.cat([embed(before), self._images[question.image], embed(after)])
                rows.append(EncodedQuestion(tokens, torch.ones(len(tokens), dtype=torch.long, device=device)))
            embeddings, masks = stack_questions(rows)
            states = self.loaded.network.encode(embeddings, masks)
        return [EncodedQuestion(own, mask) for own, mask in zip(states, masks, strict=True)]

    def _decode(self, states: torch.Tensor, masks: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.loaded.network.text(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=masks,
            decoder_input_ids=tokens,
            use_cache=False,
        ).logits
        return logits

    def _generate(self, questions: Sequence[EncodedQuestion]) -> list[QuestionAnswer | Failure]:
        """Return the answers to questions without choices, in the model's words."""
        if not questions:
            return []
        states, masks = stack_questions(questions)
        with torch.inference_mode():
            tokens = self.loaded.network.text.generate(
                encoder_outputs=BaseModelOutput(last_hidden_state=states), attention_mask=masks
            )
        return [read_text(text) for text in self._tokenizer.batch_decode(tokens, skip_special_tokens=True)]


def _load(setup: Setup[ClipFlanT5Options], place: CheckpointPlace, tokenizer: CheckpointPlace) -> LoadedCheckpoint:
    options = setup.options
    files = pickled_weights.fetch_weights(place, options.sha256, setup.offline)
    config = checkpoints.config(place, setup.offline)
    folder = checkpoints.fetch(tokenizer, setup.offline, weights=False)
    device = select_device(setup.device)
    dtype: torch.dtype = getattr(torch, precision(device.type) if options.dtype == "auto" else options.dtype)
    network = build_network(config, pickled_weights.read_weights(files, place.spec), dtype, place.spec)
    try:
        with hide_reports():
            words = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # of many types: files that are missing or damaged
        raise BadModel(
            f"{place.spec}: its tokenizer cannot be loaded from {folder} ({describe_error(error)})"
        ) from error
    return LoadedCheckpoint(
        network.eval().requires_grad_(False).to(device),
        words,
        device,
        dtype,
        {
            "checkpoint": place.name,
            "commit": checkpoints.commit(place, setup.offline),
            "architecture": type(network).__name__,
            "processor_of": tokenizer.name,
            "image_size": network.tower.config.image_size,
            "context_length": _LENGTH,
            "dtype": str(dtype).removeprefix("torch."),
            "device": str(device),
            "transformers": transformers.__version__,
        },
    )
