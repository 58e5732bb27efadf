"""A recording as files: images as PNG, all else as plain data. Knows nothing of t2i.

    images/DIGEST.png    every image, named after the SHA-256 of its pixels
    answers.jsonl.xz     one line for each thing that was asked, with its answer
    answers/             the same for entries that were added later, so that the large file stays as it is
    expected/            what each entry gave

Each line has a field `kind`:

| kind        | asked                                            | answer                                        |
|-------------|--------------------------------------------------|-----------------------------------------------|
| image       | model, prompt (id and text), seed, noise seed    | the image's digest and record, or a failure   |
| observation | judge, capability, images, texts, params         | the stored bytes in base64, or a failure      |
| prompts     | prompt source, labels of the judge it depends on | the prompts as JSON                           |
| labels      | judge                                            | the classes that it declares                  |
"""

from __future__ import annotations

import hashlib
import json
import lzma
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

HERE = Path(__file__).parent
IMAGES = HERE / "images"
ANSWERS = HERE / "answers.jsonl.xz"
ADDED = HERE / "answers"


def pixel_digest(pixels: NDArray[np.uint8]) -> str:
    """Return the SHA-256 of an image's size and pixels, 32 hex digits: no encoder of PNG has a part in it."""
    head = json.dumps(pixels.shape).encode()
    return hashlib.sha256(head + np.ascontiguousarray(pixels).tobytes()).hexdigest()[:32]


def write_image(pixels: NDArray[np.uint8], folder: Path = IMAGES) -> str:
    """Write an image, unless it is there already, and return its digest."""
    digest = pixel_digest(pixels)
    path = folder / f"{digest}.png"
    if not path.exists():
        Image.fromarray(pixels).save(path, optimize=True)
    return digest


def read_image(path: Path) -> NDArray[np.uint8]:
    """Return an image's pixels, uint8 of shape (height, width, 3)."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


@dataclass
class Answers:
    """What was asked, as canonical JSON, with its answer; `asked` are the questions that were played."""

    by_question: dict[str, Any] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def put(self, kind: str, question: dict[str, Any], answer: Any) -> None:
        """Keep an answer. Raises ValueError where the same question had another one: its key lacks something."""
        key, answer = _key(kind, question), json.loads(json.dumps(answer))
        if self.by_question.setdefault(key, answer) != answer:
            raise ValueError(f"two different answers to {key}")

    def get(self, kind: str, question: dict[str, Any]) -> Any:
        """Return an answer. Raises LookupError where the question was never asked."""
        key = _key(kind, question)
        if key not in self.by_question:
            raise LookupError(f"not in the recording: {key}; see tests/recorded/README.md, Record anew")
        self.asked.add(key)
        return self.by_question[key]

    def drop_unasked(self, images: Path = IMAGES) -> None:
        """Forget what `get` was never asked for, and remove the images that nothing names any more."""
        self.by_question = {key: self.by_question[key] for key in self.asked}
        text = json.dumps(self.by_question)
        for path in images.iterdir():
            if path.stem not in text:
                path.unlink()

    def write(self, path: Path = ANSWERS, beyond: Answers | None = None) -> None:
        """Write the answers, sorted by question: the same bytes for the same answers.

        Args:
            path: The file.
            beyond: Answers that other files hold already, which are left out.
        """
        known = {} if beyond is None else beyond.by_question
        own = sorted(item for item in self.by_question.items() if item[0] not in known)
        lines = [json.dumps([key, answer], sort_keys=True) for key, answer in own]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9))

    @classmethod
    def read(cls, path: Path = ANSWERS, added: Path = ADDED) -> Answers:
        """Read the files that `write` wrote: a whole recording, and those of entries that were added."""
        files = [path, *sorted(added.glob("*.jsonl.xz"))]
        lines = [line for file in files for line in lzma.decompress(file.read_bytes()).decode().splitlines()]
        return cls(dict(map(json.loads, lines)))


def _key(kind: str, question: dict[str, Any]) -> str:
    return json.dumps({"kind": kind, **question}, sort_keys=True)
