"""Builder of the shipped table of nearest reference colours: `python plugins/tiam/training/make_table.py`."""

from __future__ import annotations

import lzma
from pathlib import Path

from t2i_tiam.references import REFERENCES
from t2i_tiam.table import SHIPPED, compute_table


def main() -> None:
    """Compute the table for the paper's references and write it to this package's folder."""
    packed = lzma.compress(compute_table(list(REFERENCES.values())).tobytes(), preset=9 | lzma.PRESET_EXTREME)
    path = Path(__file__).parents[1] / "t2i_tiam" / SHIPPED
    path.write_bytes(packed)
    print(f"{path.name}: {len(packed)} bytes")


if __name__ == "__main__":
    main()
