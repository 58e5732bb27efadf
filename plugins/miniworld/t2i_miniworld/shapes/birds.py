"""Birds, melted from limbs and eggs. Lengths are in metres, roughly life size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from t2i_miniworld.shapes.blobs import Egg, Limb, Marks, Primitive, both, chain, melt
from t2i_miniworld.shapes.mesh import FloatArray, MeshModel, Part, Point, assemble
from t2i_miniworld.shapes.solids import egg, mirrored, solid


def bird(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a bird: a ``duck`` on webbed feet, an upright ``owl``, or a ``flamingo`` on long legs."""
    return {"duck": _duck, "owl": _owl, "flamingo": _flamingo}[form](rng)


def _duck(rng: np.random.Generator) -> MeshModel:
    """Build a duck: long and low, with a boat-shaped body, an upturned tail and a broad flat bill."""
    girth, lift, reach = rng.uniform(0.92, 1.1), rng.uniform(-0.02, 0.05), rng.uniform(-0.02, 0.03)
    perk, step = rng.uniform(-0.02, 0.05), rng.uniform(-0.035, 0.035)
    head = (0.245 + reach, 0.0, 0.475 + lift)
    bill: list[Primitive] = [
        Egg("bill", (head[0] + 0.125, 0, head[2] - 0.022), (0.088, 0.050, 0.024), pitch=-0.12),
        Egg("bill", (head[0] + 0.165, 0, head[2] - 0.022), (0.050, 0.062, 0.017), pitch=0.05),
    ]
    body: list[Primitive] = [
        Egg("body", (0.0, 0, 0.225), (0.27, 0.155 * girth, 0.135 * girth), pitch=-0.05),
        Egg("body", (0.12, 0, 0.24), (0.14, 0.14 * girth, 0.13)),
        Limb("body", (-0.20, 0, 0.26), (-0.34, 0, 0.345 + perk), 0.075, 0.022),
        Limb("body", (0.17, 0, 0.28), (0.215 + reach, 0, 0.42 + lift), 0.085, 0.066),
        Egg("body", head, (0.096, 0.085, 0.086)),
    ]
    wing = both(
        [
            Egg("wing", (-0.02, 0.135 * girth, 0.265), (0.19, 0.034, 0.085), yaw=0.10, pitch=-0.10),
            Limb("wing", (-0.14, 0.115 * girth, 0.285), (-0.27, 0.07, 0.315), 0.042, 0.014),
        ]
    )
    legs: list[Part] = []
    for side in (1, -1):
        x = 0.03 + side * step
        legs.append(
            melt([Limb("bill", (0.02, side * 0.075, 0.14), (x, side * 0.08, 0.02), 0.022, 0.019)], 0.02, cells=14)
        )
        legs.append(_web((x, side * 0.085, 0.012)))
    eyes = mirrored(solid("eye", [(head[0] + 0.045, 0.068, head[2] + 0.028)], 0.0175))
    return assemble(
        [melt(body, 0.06, cells=46), melt(wing, 0.05, cells=30), melt(bill, 0.02, cells=22), *legs, *eyes]
    )


def _owl(rng: np.random.Generator) -> MeshModel:
    """Build an owl: upright and broad, with ear tufts, two face discs around large eyes and a barred breast."""
    girth, tall, tuft = rng.uniform(0.93, 1.1), rng.uniform(-0.02, 0.04), rng.uniform(0.9, 1.25)
    head = (0.03, 0.0, 0.50 + tall)
    body: list[Primitive] = [
        Egg("body", (-0.01, 0, 0.26), (0.155 * girth, 0.165 * girth, 0.235), pitch=0.08),
        Egg("breast", (0.040, 0, 0.27), (0.128 * girth, 0.132 * girth, 0.20), pitch=0.10),
        Egg("body", head, (0.145, 0.178 * girth, 0.135)),
        *both(
            [
                Limb(
                    "body",
                    (0.04, 0.105, head[2] + 0.075),
                    (0.02, 0.165, head[2] + 0.10 + 0.10 * tuft),
                    0.058,
                    0.012,
                )
            ]
        ),
        Limb("wing", (-0.10, 0, 0.16), (-0.20, 0, 0.035), 0.075, 0.045),
    ]
    wings = both(
        [
            Egg("wing", (-0.03, 0.155 * girth, 0.285), (0.115, 0.045, 0.185), yaw=0.1, pitch=-0.25),
            Limb("wing", (-0.06, 0.15 * girth, 0.18), (-0.13, 0.10 * girth, 0.06), 0.05, 0.018),
        ]
    )
    front = head[0] + 0.118
    discs = mirrored(egg("disc", (front, 0.076, head[2] + 0.005), (0.036, 0.080, 0.086), yaw=0.36))
    irises = mirrored(
        egg("iris", (front + 0.024, 0.082, head[2] + 0.012), (0.020, 0.046, 0.046), yaw=0.36, detail=2)
    )
    pupils = mirrored(
        egg("pupil", (front + 0.037, 0.084, head[2] + 0.012), (0.014, 0.026, 0.028), yaw=0.36, detail=2)
    )
    beak = solid("beak", [(front + 0.035, 0, head[2] - 0.012), (front + 0.050, 0, head[2] - 0.055)], 0.016)
    feet: list[Primitive] = []
    for toe in (-0.04, 0.0, 0.04):
        feet.append(Limb("beak", (0.06, 0.075, 0.030), (0.145, 0.075 + toe, 0.018), 0.024, 0.018))
    toes = melt(both(feet), 0.01, cells=28)
    bars = _bars(period=rng.uniform(0.070, 0.082))
    return assemble(
        [melt(body, 0.045, bars, cells=50), melt(wings, 0.05, cells=28), *discs, *irises, *pupils, beak, toes]
    )


def _flamingo(rng: np.random.Generator) -> MeshModel:
    """Build a flamingo: tall, with two long legs, an S-shaped neck and a bent bill with a dark tip."""
    leg, bow = rng.uniform(0.56, 0.68), rng.uniform(0.9, 1.12)
    girth, step = rng.uniform(0.94, 1.1), rng.uniform(0.03, 0.09) * rng.choice((-1, 1))
    back = leg + 0.12
    # An S: forward from the breast, back, and forward again to the head.
    t = np.linspace(0, 1, 15)
    sway = 0.25 + 0.125 * bow * np.sin(2 * np.pi * (t * 1.02 - 0.02)) + 0.02 * t
    neck: list[Point] = [(float(x), 0.0, float(z)) for x, z in zip(sway, back + 0.02 + 0.60 * t, strict=True)]
    thick = [float(radius) for radius in np.interp(t, (0, 0.25, 0.6, 1), (0.088, 0.066, 0.052, 0.056))]
    head = (neck[-1][0] + 0.045, 0.0, back + 0.63)
    body: list[Primitive] = [
        Egg("plume", (0.0, 0, back), (0.275, 0.165 * girth, 0.165 * girth), pitch=0.10),
        Limb("plume", (-0.18, 0, back - 0.02), (-0.33, 0, back - 0.10), 0.085, 0.03),
        *chain("plume", neck, thick),
        Egg("plume", head, (0.088, 0.066, 0.066)),
    ]
    bill: list[Primitive] = [
        Limb("bill", (head[0] + 0.05, 0, head[2] - 0.01), (head[0] + 0.135, 0, head[2] - 0.045), 0.045, 0.042),
        Limb("mark", (head[0] + 0.14, 0, head[2] - 0.055), (head[0] + 0.155, 0, head[2] - 0.135), 0.042, 0.020),
    ]
    wing = both(
        [
            Egg("pinion", (-0.03, 0.135 * girth, back + 0.02), (0.205, 0.045, 0.11), yaw=0.08, pitch=0.15),
            Limb("pinion", (-0.16, 0.12 * girth, back - 0.02), (-0.31, 0.07, back - 0.10), 0.05, 0.02),
        ]
    )
    legs: list[Primitive] = []
    for side in (1, -1):
        y, x = side * 0.082, 0.01 + side * step
        knee, ankle = (x - 0.035, y, leg * 0.50), (x, y, 0.03)
        legs += chain("shank", [(0.0, y, leg + 0.02), knee], [0.046, 0.037])
        legs += [Egg("shank", knee, (0.046, 0.046, 0.05)), Limb("shank", knee, ankle, 0.036, 0.036)]
    webs = [_web((0.0 + side * step, side * 0.085, 0.014), "shank", 1.15) for side in (1, -1)]
    eyes = mirrored(solid("eye", [(head[0] + 0.035, 0.054, head[2] + 0.02)], 0.0185))
    return assemble(
        [
            melt(body, 0.055, cells=54),
            melt(bill, 0.02, cells=16),
            melt(wing, 0.05, cells=26),
            melt(legs, 0.02, cells=48),
            *webs,
            *eyes,
        ]
    )


def _web(heel: Point, material: str = "bill", size: float = 1.0) -> Part:
    """Build a webbed foot: a flat triangle that opens forward from the heel."""
    x, y, z = heel
    points = [(x - 0.02, y, z), *((x + 0.10 * size, y + 0.052 * size * side, z) for side in (-1, 1))]
    return solid(material, [*points, (x + 0.12 * size, y, z), (x, y, z + 0.012)], 0.012)


def _bars(period: float) -> Marks:
    """Return marks of dark flecks in rows on an owl's breast, every other row shifted by half a period."""

    def marks(vertices: FloatArray, material: NDArray[np.str_]) -> NDArray[np.str_]:
        row = vertices[:, 2] / period
        across = vertices[:, 1] / (period * 0.95) + 0.5 * (np.floor(row) % 2)
        fleck = (row % 1 < 0.5) & (np.abs(across % 1 - 0.5) < 0.24)
        material[(material == "breast") & fleck] = "fleck"
        return material

    return marks
