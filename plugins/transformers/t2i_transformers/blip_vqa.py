"""The judge `blip-vqa`: BLIP answers questions about an image.

References:
    Li et al.: BLIP: Bootstrapping Language-Image Pre-training for Unified Vision-Language Understanding and
    Generation. ICML 2022.
    Huang et al.: T2I-CompBench. NeurIPS 2023 (BLIP-VQA).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from t2i_core.api import Failure, Query, QuestionAnswer, Setup, VisualQuestion
from t2i_core.api.judge import Capability

from . import loaded_checkpoint
from .answer_likelihood import Tokens, find_spellings, score_spellings, sum_spellings
from .checkpoints import CheckpointPlace
from .decoder_answers import EncodedQuestion, read_following, read_text, run_by_length, stack_questions
from .generation_settings import configure_search
from .judge import TransformersJudge, run_in_groups
from .options import BlipVqaOptions
from .truncation import TruncationLog

_ON_GPU, _ELSEWHERE = 64, 8
_LENGTH = 35
"""Number of tokens of a question that BLIP reads."""


class BlipAnswerer(TransformersJudge):
    """Answers questions about one image with BLIP.

    Probabilities are those of the decoder's first token for answers of one token, by the softmax over the whole
    vocabulary; else the product over the tokens. So the weights of yes and no (`QuestionAnswer.weights`) are
    T2I-CompBench's. Each image is encoded once for all questions about it in a batch and at the start of the next.
    A question of more than 35 tokens is truncated, with a warning.

    Only questions of equal length share a batch: transformers' BLIP ignores the mask of padding where the decoder
    attends to the question. Results do not depend on the batch up to rounding.
    """

    def __init__(self, setup: Setup[BlipVqaOptions], place: CheckpointPlace) -> None:
        super().__init__(
            loaded_checkpoint.load(setup, place, "BlipForQuestionAnswering", "AutoProcessor"),
            setup,
            _ON_GPU,
            _ELSEWHERE,
        )
        options, network = setup.options, self.loaded.network
        self._size = options.size
        self._tokenizer = self.loaded.processor.tokenizer
        self._text_config = network.config.text_config
        # BLIP added two tokens to BERT's: [DEC], with which answers start, and then [ENC]
        self._first = self._text_config.vocab_size - 1 if options.first_token == "[ENC]" else None
        self._truncation = TruncationLog(_LENGTH)
        self._images: dict[str, torch.Tensor] = {}
        self.loaded.settings.update(
            size=options.size,
            first_token=options.first_token,
            context_length=_LENGTH,
            search=configure_search(network, options.beams, options.max_tokens),
        )

    def answers(self, capability: Capability, queries: list[Query]) -> Sequence[QuestionAnswer | Failure]:
        """Answer a batch of questions."""
        answers: dict[int, QuestionAnswer | Failure] = {}
        spelt: dict[int, list[list[Tokens]]] = {}
        free: list[int] = []
        for number, query in enumerate(queries):
            question = VisualQuestion.of(query)
            if len(query.images) != 1:
                answers[number] = Failure("this model takes questions about one image only", final=True)
            elif not question.choices:
                free.append(number)
            else:
                try:
                    spelt[number] = find_spellings(question.choices, self._encode_answer)
                except ValueError as error:
                    answers[number] = Failure(str(error), final=True)
        asked = [*free, *spelt]
        encoded = dict(zip(asked, self._encode([queries[number] for number in asked]), strict=True))
        answers |= zip(free, self._generate([encoded[number] for number in free]), strict=True)
        closed = [encoded[number] for number in spelt]

        def read(pairs: Sequence[tuple[int, Tokens]]) -> list[torch.Tensor]:
            asked, beginnings = [closed[number] for number, _ in pairs], [beginning for _, beginning in pairs]
            start = self._text_config.bos_token_id
            return run_by_length(
                [len(question.mask) for question in asked],
                lambda part: read_following(
                    self._decode, start, [asked[n] for n in part], [beginnings[n] for n in part]
                ),
            )

        found = score_spellings(list(spelt.values()), read, self._batches.size)
        for (number, spellings), scores in zip(spelt.items(), found, strict=True):
            probs = np.array(sum_spellings(spellings, scores))
            choices = tuple(queries[number].texts[1:])
            answers[number] = QuestionAnswer(choices, int(probs.argmax()), probs)
        return [answers[number] for number in range(len(queries))]

    def _encode_answer(self, text: str) -> Tokens:
        return tuple(self._tokenizer(text, add_special_tokens=False).input_ids)

    def _encode(self, queries: Sequence[Query]) -> list[EncodedQuestion]:
        """Return questions with their images, encoded."""
        images = {query.images[0].identity: query.images[0] for query in queries}
        new = {digest: image for digest, image in images.items() if digest not in self._images}
        pixels = [self._preprocess(image.pil()) for image in new.values()]
        seen = dict(zip(new, run_in_groups(pixels, self._see), strict=True))
        self._images = {digest: (self._images | seen)[digest] for digest in images}
        tokens = [self._tokens(query.texts[0]) for query in queries]

        def encode(part: list[int]) -> list[EncodedQuestion]:
            ids = torch.cat([tokens[number] for number in part]).to(self.loaded.device)
            shown = torch.cat([self._images[queries[number].images[0].identity] for number in part])
            with torch.inference_mode():
                states = self.loaded.network.text_encoder(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    encoder_hidden_states=shown,
                    encoder_attention_mask=torch.ones(shown.shape[:2], dtype=torch.long, device=shown.device),
                ).last_hidden_state
            return [EncodedQuestion(own, torch.ones_like(row)) for own, row in zip(states, ids, strict=True)]

        return run_by_length([own.shape[1] for own in tokens], encode)

    def _preprocess(self, image: Any) -> dict[str, torch.Tensor]:
        found = self.loaded.processor.image_processor(
            image, size={"height": self._size, "width": self._size}, return_tensors="pt"
        )
        return {"pixel_values": found["pixel_values"]}

    def _see(self, features: Any) -> list[torch.Tensor]:
        own_size = self.loaded.network.config.vision_config.image_size
        with torch.inference_mode():
            found = self.loaded.network.vision_model(
                **self.loaded.inputs(features), interpolate_pos_encoding=self._size != own_size
            ).last_hidden_state
        return list(found.split(1))

    def _tokens(self, text: str) -> torch.Tensor:
        """Return the tokens of a question, shape (1, tokens)."""
        self._truncation.check_length(text, len(self._tokenizer(text).input_ids))
        ids: torch.Tensor = self._tokenizer(
            text, truncation=True, max_length=_LENGTH, return_tensors="pt"
        ).input_ids
        if self._first is not None:
            ids[:, 0] = self._first
        return ids

    def _decode(self, states: torch.Tensor, masks: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.loaded.network.text_decoder(
            input_ids=tokens, encoder_hidden_states=states, encoder_attention_mask=masks, use_cache=False
        ).logits
        return logits

    def _generate(self, questions: Sequence[EncodedQuestion]) -> list[QuestionAnswer | Failure]:
        """Return the answers to questions without choices, in the model's words."""
        config = self._text_config

        def generate(part: list[int]) -> list[str]:
            states, masks = stack_questions([questions[number] for number in part])
            with torch.inference_mode():
                tokens = self.loaded.network.text_decoder.generate(
                    input_ids=torch.full((len(part), 1), config.bos_token_id, device=states.device),
                    eos_token_id=config.sep_token_id,
                    pad_token_id=config.pad_token_id,
                    encoder_hidden_states=states,
                    encoder_attention_mask=masks,
                )
            found: list[str] = self.loaded.processor.batch_decode(tokens[:, 1:], skip_special_tokens=True)
            return found

        return [
            read_text(text) for text in run_by_length([len(question.mask) for question in questions], generate)
        ]
