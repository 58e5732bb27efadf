"""Precomputed reference statistics of FID: a file FILE.npz with a mean `mu` and a covariance `sigma`."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core.api.errors import BadOption

from t2i_torchmetrics.vectors import Floats

_ASYMMETRY, _NEGATIVE = 1e-4, 1e-4
"""Largest difference of sigma from its transpose, and most negative eigenvalue, as shares of the largest value."""


def read_statistics(file: Path) -> tuple[Floats, Floats]:
    """Return the mean, of shape (d,), and the covariance, of shape (d, d), of a file.

    References:
        mseitzer/pytorch-fid and DM-GAN write such files.

    Raises:
        BadOption: The file is not valid.
    """
    mu, sigma = _load(file)
    if mu.ndim != 1 or not mu.size:
        raise _make_error(file, f"mu has the shape {mu.shape}; it must be a vector")
    if sigma.shape != (len(mu), len(mu)):
        raise _make_error(file, f"sigma has the shape {sigma.shape}; with mu it must be {(len(mu), len(mu))}")
    for name, values in (("mu", mu), ("sigma", sigma)):
        if not np.isfinite(values).all():
            raise _make_error(file, f"{name} has values that are not finite")
    largest = float(np.abs(sigma).max())
    if np.abs(sigma - sigma.T).max() > _ASYMMETRY * largest:
        raise _make_error(file, "sigma is not symmetric, so it is not a covariance")
    sigma = (sigma + sigma.T) / 2
    if np.linalg.eigvalsh(sigma)[0] < -_NEGATIVE * largest:
        raise _make_error(file, "sigma has negative eigenvalues, so it is not a covariance")
    return mu, sigma


def _load(file: Path) -> tuple[Floats, Floats]:
    try:
        with np.load(file, allow_pickle=False) as data:
            missing = {"mu", "sigma"} - set(getattr(data, "files", ()))
            found: dict[str, Any] = {} if missing else {name: data[name] for name in ("mu", "sigma")}
            names = ", ".join(getattr(data, "files", ()))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise _make_error(file, "it is not a file of NumPy arrays") from error
    if missing:
        raise _make_error(file, f"it lacks {' and '.join(sorted(missing))} (it has {names or 'nothing'})")
    for name, values in found.items():
        if values.dtype.kind not in "fiu":
            raise _make_error(file, f"{name} holds {values.dtype}; it must hold real numbers")
    return found["mu"].astype(np.float64), found["sigma"].astype(np.float64)


def _make_error(file: Path, problem: str) -> BadOption:
    return BadOption(f"option reference: {file}: {problem}; name a file with mu and sigma, or a folder of images")
