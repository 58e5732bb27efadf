"""What judges say: one type, and one compact stored form, per capability.

Arrays are little-endian in store. Boxes are x0, y0, x1, y1 in pixels of the image, y growing downward.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import deserialize
from safetensors.numpy import save

from .judge import Capability
from .mask import PackedMask
from .prompt import ObjectClass

Labels = tuple[ObjectClass, ...]
Arrays = Mapping[str, NDArray[Any]]


class Observation(Protocol):
    """What one judge says about one query."""

    capability: ClassVar[Capability]

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form. Labels are stored with it only where the judge declares none."""
        ...

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read the stored form; `labels` are the classes that the judge declares, if it does."""
        ...


def encode_arrays(arrays: Arrays) -> bytes:
    """Pack named arrays (safetensors: no pickle, readable by anything). Raises TypeError for other types."""
    for name, array in arrays.items():
        if array.dtype not in _DTYPES.values():
            raise TypeError(f"array {name!r} is of {array.dtype}; want one of {', '.join(_DTYPES)}")
    return save({name: np.ascontiguousarray(a) for name, a in arrays.items()})


_DTYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32,
    "I16": np.int16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip


def decode_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """Read what `arrays_to_bytes` wrote."""
    return {
        name: np.frombuffer(t["data"], _DTYPES[t["dtype"]]).reshape(t["shape"])
        for name, t in deserialize(data)  # type: ignore[no-untyped-call]
    }


def _labels_array(labels: Labels) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps([[c.name, c.synset] for c in labels]).encode(), np.uint8)


def _labels_of(array: NDArray[np.uint8]) -> Labels:
    return tuple(ObjectClass(name, synset) for name, synset in json.loads(array.tobytes()))


@dataclass(frozen=True)
class Detections:
    """Objects found in one image, kept down to the judge's low floor of confidence.

    size:         width and height of the image in pixels
    boxes:        float32 (n, 4)
    scores:       float32 (n,), confidence in [0, 1]
    classes:      int16 (n,), index into `labels`
    labels:       the judge's classes
    class_probs:  float32 (n, len(labels)), probabilities with any background dropped, where the judge gives them
    colours:      float32 (n, len(colour_names)), probabilities, where the judge gives them
    """

    capability: ClassVar[Capability] = "detect"

    size: tuple[int, int]
    boxes: NDArray[np.float32]
    scores: NDArray[np.float32]
    classes: NDArray[np.int16]
    labels: Labels
    class_probs: NDArray[np.float32] | None = None
    colours: NDArray[np.float32] | None = None
    colour_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.scores)

    def label(self, index: int) -> ObjectClass:
        """The class of detection `index`."""
        return self.labels[int(self.classes[index])]

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "size": np.asarray(self.size, np.int32),
            "boxes": np.asarray(self.boxes, np.float32).reshape(-1, 4),
            "scores": np.asarray(self.scores, np.float32),
            "classes": np.asarray(self.classes, np.int16),
        }
        if self.class_probs is not None:
            arrays["class_probs"] = np.asarray(self.class_probs, np.float32)
        if self.colours is not None:
            arrays["colours"] = np.asarray(self.colours, np.float32)
            arrays["colour_names"] = np.frombuffer(json.dumps(self.colour_names).encode(), np.uint8)
        return arrays

    @staticmethod
    def _fields(arrays: dict[str, NDArray[Any]], labels: Labels | None) -> dict[str, Any]:
        names = arrays.get("colour_names")
        return {
            "size": (int(arrays["size"][0]), int(arrays["size"][1])),
            "boxes": arrays["boxes"],
            "scores": arrays["scores"],
            "classes": arrays["classes"],
            "labels": _labels_of(arrays["labels"]) if labels is None else labels,
            "class_probs": arrays.get("class_probs"),
            "colours": arrays.get("colours"),
            "colour_names": () if names is None else tuple(json.loads(names.tobytes())),
        }

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: a safetensors file."""
        arrays = self._arrays()
        if labels is None:
            arrays["labels"] = _labels_array(self.labels)
        return encode_arrays(arrays)

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read what `to_bytes` wrote."""
        return cls(**cls._fields(decode_arrays(data), labels))


@dataclass(frozen=True)
class Segments(Detections):
    """Detections with a mask each, at the resolution of the image.

    masks: n packed masks
    """

    capability: ClassVar[Capability] = "segment"

    masks: tuple[PackedMask, ...] = ()

    def mask(self, index: int) -> NDArray[np.bool_]:
        """The mask of detection `index`, boolean of shape (height, width)."""
        return self.masks[index].unpack()

    def without_masks(self) -> Detections:
        """The same detections for who asks only for boxes."""
        return Detections(
            self.size, self.boxes, self.scores, self.classes, self.labels, self.class_probs, self.colours,
            self.colour_names,
        )  # fmt: skip

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._arrays(),
            "mask_boxes": np.asarray([m.box for m in self.masks], np.int32).reshape(-1, 4),
            "mask_bytes": np.asarray([len(m.data) for m in self.masks], np.int32),
            "masks": np.frombuffer(b"".join(m.data for m in self.masks), np.uint8),
        }

    @staticmethod
    def _fields(arrays: dict[str, NDArray[Any]], labels: Labels | None) -> dict[str, Any]:
        fields = Detections._fields(arrays, labels)
        data, masks, start = arrays["masks"].tobytes(), [], 0
        for box, length in zip(arrays["mask_boxes"].tolist(), arrays["mask_bytes"].tolist(), strict=True):
            masks.append(PackedMask(fields["size"], tuple(box), data[start : start + length]))
            start += length
        return {**fields, "masks": tuple(masks)}


@dataclass(frozen=True)
class _Vector:
    """A float32 vector, stored as its raw bytes."""

    values: NDArray[np.float32]

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: raw float32."""
        return np.asarray(self.values, "<f4").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read what `to_bytes` wrote."""
        return cls(np.frombuffer(data, "<f4"))

    @classmethod
    def stacked(cls, data: Sequence[bytes], labels: Labels | None) -> Self:
        """Read several stored forms as one observation: `values` of shape (len(data), d).

        Raises ValueError where they are not of one length.
        """
        return cls(_stack(data))


def _stack(data: Sequence[bytes]) -> NDArray[np.float32]:
    lengths = {len(one) for one in data}
    if len(lengths) != 1:
        raise ValueError("vectors of several lengths")
    if lengths.pop() % 4:  # of images, which are never cut
        raise ValueError("vectors of cut texts")
    return np.frombuffer(b"".join(data), "<f4").reshape(len(data), -1)


@dataclass(frozen=True)
class Embedding(_Vector):
    """An image's or a text's vector in a space that both share (not normalised), float32 (d,).

    cut_to: so many tokens of a text were read, for the judge reads no more and the text has more; None: all
    """

    capability: ClassVar[Capability] = "embed"

    cut_to: int | None = None

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: raw float32; of a text that was cut two bytes more, how many tokens of it."""
        return super().to_bytes(labels) + (b"" if self.cut_to is None else self.cut_to.to_bytes(2, "little"))

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read what `to_bytes` wrote."""
        whole = len(data) // 4 * 4
        cut_to = int.from_bytes(data[whole:], "little") if data[whole:] else None
        return cls(np.frombuffer(data[:whole], "<f4"), cut_to)


@dataclass(frozen=True)
class Features(_Vector):
    """An image's feature vector (Inception's pool3 and the like), float32 (d,)."""

    capability: ClassVar[Capability] = "features"


@dataclass(frozen=True)
class ClassScores:
    """A classifier's logits before softmax, float32 (len(labels),)."""

    capability: ClassVar[Capability] = "classify"

    logits: NDArray[np.float32]
    labels: Labels

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: raw float32, behind the labels where they are stored with it."""
        head = b"" if labels is not None else _labels_array(self.labels).tobytes() + b"\n"
        return head + np.asarray(self.logits, "<f4").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read what `to_bytes` wrote."""
        if labels is None:
            head, _, data = data.partition(b"\n")
            labels = _labels_of(np.frombuffer(head, np.uint8))
        return cls(np.frombuffer(data, "<f4"), labels)

    @classmethod
    def stacked(cls, data: Sequence[bytes], labels: Labels | None) -> Self:
        """Read several stored forms as one observation: `logits` of shape (len(data), len(labels)).

        Raises ValueError where they are not of the same labels.
        """
        if labels is None:
            heads, data = zip(
                *((head, tail) for head, _, tail in (one.partition(b"\n") for one in data)), strict=True
            )
            if len(set(heads)) != 1:
                raise ValueError("scores of other classes than before")
            labels = _labels_of(np.frombuffer(heads[0], np.uint8))
        return cls(_stack(data), labels)


@dataclass(frozen=True)
class Caption:
    """A text that describes one image."""

    capability: ClassVar[Capability] = "caption"

    text: str

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: UTF-8."""
        return self.text.encode()

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read what `to_bytes` wrote."""
        return cls(data.decode())


@dataclass(frozen=True)
class Reward:
    """How good one image is for one text, on the judge's own scale; higher is better."""

    capability: ClassVar[Capability] = "reward"

    value: float

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: one float64."""
        return np.float64(self.value).tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read what `to_bytes` wrote."""
        return cls(float(np.frombuffer(data, "<f8")[0]))


Verdict = Literal["first", "second", "tie", "both_bad", "unparsable", "refused"]


@dataclass(frozen=True)
class Preference:
    """Which of two images, in the order shown, is better for one text.

    margin:     how much better the first is on the judge's own scale, where it has one
    reasoning:  the judge's words, where it gives any
    """

    capability: ClassVar[Capability] = "prefer"

    verdict: Verdict
    margin: float | None = None
    reasoning: str = ""

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: JSON."""
        return json.dumps([self.verdict, self.margin, self.reasoning]).encode()

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read what `to_bytes` wrote."""
        return cls(*json.loads(data))


@dataclass(frozen=True)
class LikelihoodTerms:
    """The terms of which a likelihood of one image under each of several captions is made.

    terms: named float64 arrays whose last axis is the caption (and first the trial, second the step, where there
           are trials and steps); which terms there are is the judge's to document. NaN where a caption was given
           up before this term was needed
    calls: evaluations of the model that it took
    """

    capability: ClassVar[Capability] = "likelihood"

    terms: Mapping[str, NDArray[np.float64]]
    calls: int = 0

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: a safetensors file."""
        terms = {f"term:{name}": np.asarray(a, np.float64) for name, a in self.terms.items()}
        return encode_arrays({**terms, "calls": np.asarray([self.calls], np.int64)})

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read what `to_bytes` wrote."""
        arrays = decode_arrays(data)
        calls = int(arrays.pop("calls")[0])
        return cls({name.removeprefix("term:"): a for name, a in arrays.items()}, calls)


@dataclass(frozen=True)
class Pixels:
    """That an image is there and can be read; what a metric takes from it is its Need's `derive`."""

    capability: ClassVar[Capability] = "pixels"

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: nothing, for the image is kept already."""
        return b""

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Read what `to_bytes` wrote."""
        return cls()


TYPES: dict[Capability, type[Any]] = {
    t.capability: t
    for t in (
        Detections, Segments, ClassScores, Embedding, Features, Caption, Preference, Reward, LikelihoodTerms,
        Pixels,
    )
}  # fmt: skip
