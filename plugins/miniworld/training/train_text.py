"""Train the text encoder: ``python plugins/miniworld/training/train_text.py DATA... OUT``.

Each batch has a true and a nearly true caption for every scene. For each scene and text of the batch, the network
learns whether the text is true of the scene; the grammar gives the label. Scenes are given by their ideal
embedding instead of a picture, so training takes minutes. The same command resumes.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import mini_tokenizer
import numpy as np
import torch
from altered import ASPECTS, wrong_statement
from captions import caption, words_for
from latents import is_pipeline
from mini_clip import TextSide
from t2i_core.api import Instance, Truth
from t2i_miniworld.oracle_embedding import embed_image
from t2i_miniworld.phrases import read
from t2i_miniworld.statements import holds
from t2i_torch_support.training import Course, load_average, train
from torch import Tensor, nn
from training_data import load
from transformers import CLIPTextModel, CLIPTokenizer


def texts_of(shown: list[tuple[Instance, ...]], rng: np.random.Generator) -> list[str]:
    """Return a true caption of each picture, then a nearly true one of each, or another true one."""
    right = [caption(one, rng) for one in shown]
    wrong = []
    for one in shown:
        reading = wrong_statement(one, str(rng.choice(ASPECTS)), rng, tries=3)
        wrong.append(words_for(reading, rng) if reading is not None else caption(one, rng))
    return right + wrong


def truths_of(shown: list[tuple[Instance, ...]], texts: list[str]) -> Tensor:
    """Return whether each text is true of each picture: (N, M), 1 or 0."""
    readings = [read(text) for text in texts]
    return torch.tensor([[float(holds(reading, one)) for reading in readings] for one in shown])


def tokens(tokenizer: CLIPTokenizer, texts: list[str]) -> Tensor:
    """Return the token ids of texts, padded to the longest."""
    found: Tensor = tokenizer(texts, padding=True, truncation=True, return_tensors="pt").input_ids
    return found


def vocabulary_of(tokenizer: CLIPTokenizer) -> str:
    """Return a digest of the tokenizer, because another grammar may have other words."""
    return hashlib.blake2b(tokenizer.backend_tokenizer.to_str().encode(), digest_size=16).hexdigest()


def fit_of(logits: Tensor, true: Tensor) -> dict[str, Tensor]:
    """Return the loss, and how often the likeliest of the first N texts is true.

    Args:
        logits: Logits (N, M) of N pictures and M texts; the first N texts are the pictures' own captions.
        true: Whether each text is true of each picture (N, M), 1 or 0.
    """
    loss = nn.functional.binary_cross_entropy_with_logits(logits, true, reduction="sum") / len(true)
    best = logits[:, : len(true)].argmax(dim=1)
    return {"loss": loss, "best_is_true": true.gather(1, best[:, None]).mean()}


def ideal(shown: list[Truth]) -> Tensor:
    """Return the ideal embeddings of scenes (N, `oracle_embedding.size()`), in half precision to save memory."""
    return torch.from_numpy(np.stack([embed_image(one).values.astype(np.float16) for one in shown]))


def trained(folder: Path) -> tuple[CLIPTokenizer, TextSide]:
    """Load tokenizer and averaged network from a training folder."""
    tokenizer = CLIPTokenizer.from_pretrained(folder / "tokenizer")
    network: TextSide = load_average(TextSide(tokenizer), folder)
    return tokenizer, network


def encoder_of(folder: Path) -> tuple[CLIPTokenizer, CLIPTextModel]:
    """Load tokenizer and text encoder of a packed pipeline or of a training folder."""
    if not is_pipeline(folder):
        tokenizer, network = trained(folder)
        return tokenizer, network.text
    packed = CLIPTextModel.from_pretrained(folder, subfolder="text_encoder").float()
    return CLIPTokenizer.from_pretrained(folder, subfolder="tokenizer"), packed.eval().requires_grad_(False)


def run(data: list[Path], out: Path, course: Course, scenes: int, device: str = "cpu") -> nn.Module:
    """Train on the first ``scenes`` scenes of each folder; return the averaged network."""
    truths = [truth for folder in data for drawn in load(folder, "train", scenes) for truth in drawn.truths]
    said = ideal(truths)
    tokenizer = mini_tokenizer.build()
    tokenizer.save_pretrained(out / "tokenizer")
    torch.manual_seed(course.seed)
    network = TextSide(tokenizer).train().to(device)

    def batch(step: int, random: torch.Generator) -> dict[str, Tensor]:
        rng = np.random.default_rng((course.seed, step))
        chosen = torch.randint(len(truths), (course.batch,), generator=random)
        shown = [truths[index].instances for index in chosen.tolist()]
        texts = texts_of(shown, rng)
        seen = network.scenes(said[chosen].float().to(device))
        logits = network.logits(seen, network.texts(tokens(tokenizer, texts).to(device)))
        return fit_of(logits, truths_of(shown, texts).to(device))

    about = {"scenes": len(truths), "vocabulary": vocabulary_of(tokenizer)}
    return train(network, batch, course, out, about)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=16_500, help="maximum number from each folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    course = Course(given.steps, given.batch, given.rate, given.seed, decay=0.05, keep=0.998)
    run(given.data, given.out, course, given.scenes, given.device)


if __name__ == "__main__":
    main()
