"""Answers of a vision-language model to questions about images."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from t2i_core.api import Failure, Query, QuestionAnswer, VisualQuestion

from . import image_features
from .answer_likelihood import Tokens, encode_words, find_spellings, score_spellings, sum_spellings
from .decoder_answers import read_text, run_by_length
from .image_features import EncodedImages, ImageStore, RememberingImageProcessor
from .judge import Features
from .loaded_checkpoint import LoadedCheckpoint
from .options import VisualQuestionOptions
from .question_prompts import is_yes_no, write_content

_TOKENS = 2048
"""Number of tokens for each row of a batch; a batch with longer rows has fewer of them."""

_SUFFIX_TYPES = {"paligemma": 1}
"""By architecture, the token type of an answer's tokens, if it is not that of text in a question (0)."""


@dataclass(frozen=True)
class _Row:
    """One row of a batch: a question, followed by the beginning of an answer.

    Attributes:
        inputs: The model's input for the question, each tensor for one row.
        images: The question's images.
        beginning: Tokens of the answer's beginning.
    """

    inputs: Features
    images: EncodedImages
    beginning: Tokens = ()

    @property
    def length(self) -> int:
        """Number of tokens of the question."""
        return int(self.inputs["input_ids"].shape[1])


class VisualAnswerer:
    """Asks a vision-language model questions about images.

    The probability of a choice is that of the model's answer beginning with it, by the softmax over the whole
    vocabulary at temperature 1: of the first token for answers of one token, else the product over the tokens.
    Free text is searched greedily.

    The vision tower sees the images of a question once, whatever else is asked about the same images in this batch
    or at the start of the next. Rows of unequal length are padded on the right, where no token of a question
    attends. Results do not depend on the batch up to rounding.
    """

    def __init__(self, loaded: LoadedCheckpoint, options: VisualQuestionOptions) -> None:
        self._loaded = loaded
        self._options = options
        self._network = loaded.network
        self._tokenizer = loaded.processor.tokenizer
        self._reuses = image_features.can_reuse_features(self._network)
        self._keeps = "logits_to_keep" in inspect.signature(self._network.forward).parameters
        self._type = _SUFFIX_TYPES.get(self._network.config.model_type, 0)
        self._store = ImageStore()
        self._image_processor = RememberingImageProcessor(loaded.processor.image_processor)
        loaded.processor.image_processor = self._image_processor

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest."""
        return {"image_features_reused": self._reuses}

    def answer(self, queries: Sequence[Query], at_once: int) -> list[QuestionAnswer | Failure]:
        """Return the answers to a batch of questions.

        Args:
            queries: Questions.
            at_once: Number of rows that the model reads at once.
        """
        self._store.keep(queries)
        questions = [VisualQuestion.of(query) for query in queries]
        answers: dict[int, QuestionAnswer | Failure] = {}
        rows: dict[int, _Row] = {}
        for number, (query, question) in enumerate(zip(queries, questions, strict=True)):
            if len(query.images) > 1 and not self._loaded.processor.chat_template:
                answers[number] = Failure("this model takes questions about one image only", final=True)
            else:
                rows[number] = self._write(query, question)
        free = [number for number in rows if not questions[number].choices]
        closed = [number for number in rows if questions[number].choices]
        answers |= zip(free, self._generate([rows[number] for number in free], at_once), strict=True)
        answers |= zip(
            closed,
            self._choose([rows[number] for number in closed], [questions[number] for number in closed], at_once),
            strict=True,
        )
        return [answers[number] for number in range(len(queries))]

    def _write(self, query: Query, question: VisualQuestion) -> _Row:
        """Return the row of a question."""
        images = self._store.find(query)
        processor = self._loaded.processor
        content = write_content(question, images, self._options)
        self._image_processor.current = images
        try:
            if processor.chat_template:
                inputs: Any = processor.apply_chat_template(
                    [{"role": "user", "content": content}],
                    add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
                )  # fmt: skip
            else:
                text = processor.image_token + content[-1]["text"]
                inputs = processor(images=images.pixels[0], text=text, return_tensors="pt")
        finally:
            self._image_processor.current = None
        return _Row({name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}, images)

    def _spell(self, question: VisualQuestion) -> list[list[Tokens]]:
        """Return the tokens of each choice in its spellings."""
        if is_yes_no(question):
            words = (self._options.yes, self._options.no)
            return [[tokens] for tokens in encode_words(words, self._encode)]
        return find_spellings(question.choices, self._encode)

    def _encode(self, text: str) -> Tokens:
        return tuple(self._tokenizer(text, add_special_tokens=False).input_ids)

    def _choose(
        self, rows: Sequence[_Row], questions: Sequence[VisualQuestion], at_once: int
    ) -> list[QuestionAnswer | Failure]:
        """Return the answers to questions with choices."""
        spelt: dict[int, list[list[Tokens]]] = {}
        answers: dict[int, QuestionAnswer | Failure] = {}
        for number, question in enumerate(questions):
            try:
                spelt[number] = self._spell(question)
            except ValueError as error:
                answers[number] = Failure(str(error), final=True)
        chosen = [rows[number] for number in spelt]

        def read(asked: Sequence[tuple[int, Tokens]]) -> list[torch.Tensor]:
            parts = _split([replace(chosen[n], beginning=beginning) for n, beginning in asked], at_once)
            return [log_probs for part in parts for log_probs in self._read_following(part)]

        for number, scores in zip(spelt, score_spellings(list(spelt.values()), read, at_once), strict=True):
            probs = np.array(sum_spellings(spelt[number], scores))
            answers[number] = QuestionAnswer(questions[number].choices, int(probs.argmax()), probs)
        return [answers[number] for number in range(len(questions))]

    def _read_following(self, rows: Sequence[_Row]) -> list[torch.Tensor]:
        """Return the log probabilities of the token after each question, and after each token of the beginning.

        Returns:
            For each row float32 of shape (tokens of the beginning + 1, vocabulary).
        """
        ends = [range(row.length - 1, row.length + len(row.beginning)) for row in rows]
        places = sorted({place for end in ends for place in end})
        inputs = self._pad(rows)
        kept = {"logits_to_keep": torch.tensor(places, device=self._loaded.device)} if self._keeps else {}
        with torch.inference_mode():
            logits = self._network(**inputs, **self._see(rows), **kept, use_cache=False).logits
            if not self._keeps:
                logits = logits[:, places]
            of = {place: number for number, place in enumerate(places)}
            return [
                logits[number, [of[place] for place in end]].float().log_softmax(-1).cpu()
                for number, end in enumerate(ends)
            ]

    def _generate(self, rows: Sequence[_Row], at_once: int) -> list[QuestionAnswer | Failure]:
        """Return the answers to questions without choices. Only questions of equal length share a batch."""

        def generate(numbers: list[int]) -> list[QuestionAnswer | Failure]:
            found: list[QuestionAnswer | Failure] = []
            for part in _split([rows[number] for number in numbers], at_once):
                with torch.inference_mode():
                    tokens = self._network.generate(**self._pad(part), **self._see(part))
                answers = tokens[:, part[0].length :]
                found += map(read_text, self._loaded.processor.batch_decode(answers, skip_special_tokens=True))
            return found

        return run_by_length([row.length for row in rows], generate)

    def _see(self, rows: Sequence[_Row]) -> dict[str, Any]:
        """Return the model's input that shows the rows' images as features; none if it cannot reuse features."""
        if not self._reuses:
            return {}
        for row in rows:
            if row.images.features is None:
                row.images.features = image_features.encode_images(self._network, self._loaded.inputs(row.inputs))
        return {
            "mm_encoder_outputs": {"image": image_features.join_features([row.images.features for row in rows])}
        }

    def _pad(self, rows: Sequence[_Row]) -> dict[str, torch.Tensor]:
        """Return the rows as one input of the model, padded on the right."""
        longest = max(row.length + len(row.beginning) for row in rows)
        pad = self._tokenizer.pad_token_id or 0
        columns: dict[str, list[torch.Tensor]] = {}
        for row in rows:
            for name, value in row.inputs.items():
                if value.shape[:2] != row.inputs["input_ids"].shape:
                    columns.setdefault(name, []).append(value)
                    continue
                own = {"input_ids": row.beginning, "attention_mask": [1] * len(row.beginning)}
                added = own.get(name, [self._type if name == "token_type_ids" else 0] * len(row.beginning))
                filled = [pad if name == "input_ids" else 0] * (longest - row.length - len(row.beginning))
                tail = torch.tensor([[*added, *filled]], dtype=value.dtype).reshape(1, -1)
                columns.setdefault(name, []).append(torch.cat([value, tail], dim=1))
        joined = {name: torch.cat(values) for name, values in columns.items() if name != "labels"}
        return self._loaded.inputs(image_features.drop_pixels(joined) if self._reuses else joined)


def _split(rows: Sequence[_Row], at_once: int) -> Iterator[list[_Row]]:
    """Yield batches of rows, which are smaller if rows are long, because memory grows with the longest one."""
    part: list[_Row] = []
    longest = 0
    for row in rows:
        longest = max(longest, row.length + len(row.beginning))
        if part and (len(part) + 1) * longest > at_once * _TOKENS:
            yield part
            part, longest = [], row.length + len(row.beginning)
        part.append(row)
    if part:
        yield part
