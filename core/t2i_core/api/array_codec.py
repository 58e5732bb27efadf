"""Arrays as bytes and back, for the stored forms of observations. All are little-endian."""

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
    """Pack named arrays (safetensors: no pickle, readable by anything). Raises TypeError for other types."""
    for name, array in arrays.items():
        if array.dtype not in _DTYPES.values():
            raise TypeError(f"array {name!r} is of {array.dtype}; want one of {', '.join(_DTYPES)}")
    return save({name: np.ascontiguousarray(a) for name, a in arrays.items()})


def decode_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """Read what `encode_arrays` wrote."""
    return {
        name: np.frombuffer(t["data"], _DTYPES[t["dtype"]]).reshape(t["shape"])
        for name, t in deserialize(data)  # type: ignore[no-untyped-call]
    }


def encode_vector(values: NDArray[np.float32]) -> bytes:
    """Return a vector as raw float32."""
    return np.asarray(values, "<f4").tobytes()


def decode_vector(data: bytes) -> NDArray[np.float32]:
    """Read what `encode_vector` wrote."""
    return np.frombuffer(data, "<f4")


def decode_vectors(data: Sequence[bytes]) -> NDArray[np.float32]:
    """Read several vectors as one array of shape (len(data), d). Raises ValueError if they differ in length."""
    lengths = {len(one) for one in data}
    if len(lengths) != 1:
        raise ValueError("vectors of several lengths")
    if lengths.pop() % 4:  # an embedding's note that its text was cut, which no image's has
        raise ValueError("vectors of cut texts")
    return decode_vector(b"".join(data)).reshape(len(data), -1)


def check_vector(name: str, values: Any) -> None:
    """Raise ValueError if a field is not a vector of one number at least."""
    if np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(f"gave {name} of shape {np.shape(values)}, want a vector")


def encode_labels(labels: Labels) -> bytes:
    """Return classes as one line of JSON."""
    return json.dumps([[c.name, c.synset] for c in labels]).encode()


def decode_labels(data: bytes) -> Labels:
    """Read what `encode_labels` wrote."""
    return tuple(ObjectClass(name, synset) for name, synset in json.loads(data))
