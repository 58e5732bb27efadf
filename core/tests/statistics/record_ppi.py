"""Draw data sets and write what the package of PPI++'s authors makes of them to ppi.json, beside this file.

    pip install ppi-python==0.2.3 && python record_ppi.py > ppi.json

In its own environment. The seed is fixed, the same version writes the same file.
"""

import json
from importlib.metadata import version

import numpy as np
from ppi_py import ppi_mean_pointestimate

rng = np.random.default_rng(5)
cases = []
for name, labels, rows, score in (
    ("yes or no", 300, 2000, 0.6),
    ("often yes", 250, 750, 0.9),
    ("half labelled", 220, 480, 0.5),
    ("shares", 210, 600, 0.7),
):
    y = (rng.random(rows) < score).astype(float)
    u = rng.random(rows)
    f = np.where(y == 1, u >= 0.2, u < 0.1).astype(float)
    if name == "shares":
        f = np.clip(0.5 * y + rng.normal(0.2, 0.2, rows), 0, 1).round(2)
        y = np.clip(0.8 * y + rng.normal(0.1, 0.1, rows), 0, 1).round(2)
    known, judged, others = y[:labels], f[:labels], f[labels:]
    tuned = float(np.squeeze(ppi_mean_pointestimate(known, judged, others)))
    plain = float(np.squeeze(ppi_mean_pointestimate(known, judged, others, lam=1)))
    # the estimate is linear in lam: mean(y) + lam (mean(others) - mean(judged))
    lam = (tuned - known.mean()) / (others.mean() - judged.mean())
    cases.append(
        {
            "name": name,
            "labels": known.tolist(),
            "judged": f.tolist(),
            "estimate": tuned,
            "lam": lam,
            "estimate_lam_1": plain,
        }
    )
source = f"ppi-python {version('ppi-python')}, ppi_mean_pointestimate, lam=None and lam=1 (MIT licence)"
print(json.dumps({"source": source, "cases": cases}, separators=(",", ":")))
