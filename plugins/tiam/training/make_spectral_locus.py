"""Write the chromaticities of spectral colours, `t2i_tiam/data/spectral-locus.csv`.

    pip install colour-science
    python plugins/tiam/training/make_spectral_locus.py

The colour-matching functions are those of the CIE 1931 standard observer (2 degrees), as CIE 018:2019 tabulates
them in steps of 1 nm; x = X / (X + Y + Z), y = Y / (X + Y + Z).
"""

from __future__ import annotations

from pathlib import Path

TABLE = Path(__file__).parents[1] / "t2i_tiam" / "data" / "spectral-locus.csv"
OBSERVER = "CIE 1931 2 Degree Standard Observer"
STEP = 5


def compute_locus() -> list[tuple[str, str, str]]:
    """Return wavelength in nm, x and y from 380 to 700 nm; beyond, the chromaticity does not change."""
    import colour

    functions = colour.MSDS_CMFS[OBSERVER]
    lines = []
    for wavelength, values in zip(functions.wavelengths, functions.values, strict=True):
        if 380 <= wavelength <= 700 and wavelength % STEP == 0:
            x, y, _ = values / values.sum()
            lines.append((f"{wavelength:.0f}", f"{x:.5f}", f"{y:.5f}"))
    return lines


if __name__ == "__main__":
    TABLE.write_text("".join(f"{','.join(line)}\n" for line in [("nm", "x", "y"), *compute_locus()]))
