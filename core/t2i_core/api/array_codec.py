"""Encoding of arrays and numbers as little-endian bytes, for the stored forms of observations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import deserialize
from safetensors.numpy import save

from .observation import Labels
from .prompt import ObjectClass

Arrays = Mapping[str, NDArray[Any]]

_DTYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32,
    "I16": np.int16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip


def encode_arrays(arrays: Arrays) -> bytes:
    """Return named arrays as a safetensors file.

    Raises:
        TypeError: If safetensors does not support the dtype of an array.
    """
    for name, array in arrays.items():
        if array.dtype not in _DTYPES.values():
            raise TypeError(f"the dtype of array {name!r} must be one of {', '.join(_DTYPES)} (got {array.dtype})")
    return save({name: np.ascontiguousarray(a) for name, a in arrays.items()})


def decode_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the named arrays that `encode_arrays` wrote."""
    return {
        name: np.frombuffer(t["data"], _DTYPES[t["dtype"]]).reshape(t["shape"])
        for name, t in deserialize(data)  # type: ignore[no-untyped-call]
    }


def encode_vector(values: NDArray[np.float32]) -> bytes:
    """Return a vector as raw float32 bytes."""
    return np.asarray(values, "<f4").tobytes()


def decode_vector(data: bytes) -> NDArray[np.float32]:
    """Return the vector that `encode_vector` wrote."""
    return np.frombuffer(data, "<f4")


def decode_vectors(data: Sequence[bytes]) -> NDArray[np.float32]:
    """Return several stored vectors as one array of shape (len(data), d).

    Raises:
        ValueError: If they differ in length.
    """
    lengths = {len(one) for one in data}
    if len(lengths) != 1:
        raise ValueError("vectors of several lengths")
    if lengths.pop() % 4:  # two more bytes: the embedding of a truncated text, which has no place among images
        raise ValueError("vectors of cut texts")
    return decode_vector(b"".join(data)).reshape(len(data), -1)


def encode_truncation(cut_to: int | None) -> bytes:
    """Return the number of tokens read of a truncated text as two bytes; of any other text (None), no bytes."""
    return b"" if cut_to is None else cut_to.to_bytes(2, "little")


def decode_truncation(data: bytes) -> int | None:
    """Return the number of tokens that `encode_truncation` wrote."""
    return int.from_bytes(data, "little") if data else None


def check_vector(name: str, values: Any) -> None:
    """Raise ValueError if a field is not a vector with at least one number."""
    if np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(f"gave {name} of shape {np.shape(values)}; it must be a vector")


def encode_labels(labels: Labels) -> bytes:
    """Return classes as one line of JSON."""
    return json.dumps([[c.name, c.synset] for c in labels]).encode()


def decode_labels(data: bytes) -> Labels:
    """Return the classes that `encode_labels` wrote."""
    return tuple(ObjectClass(name, synset) for name, synset in json.loads(data))
