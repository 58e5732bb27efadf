"""People. Lengths are in metres; the head is a little large, so that a small picture still shows the face."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2i_miniworld.shapes.blobs import Egg, Limb, Primitive, both, chain, melt
from t2i_miniworld.shapes.mesh import MeshModel, Part, assemble
from t2i_miniworld.shapes.solids import egg, mirrored, solid

Ring = tuple[float, float, float]
"""A cross-section of a garment: height, half depth (x), half width (y)."""


def human(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a person in a knee-length coat: ``short`` or ``long`` hair, bare-headed or with a hat (``-hat``)."""
    girth, leg = rng.uniform(0.92, 1.12), rng.uniform(-0.03, 0.05)
    stride, swing = rng.uniform(0.03, 0.17) * rng.choice((-1, 1)), rng.uniform(0.5, 0.9)
    flare, reach = rng.uniform(0.92, 1.10), rng.uniform(0.02, 0.07)
    hem, collar = 0.44 + leg, 1.30 + leg
    head = (0.025, 0.0, 1.525 + leg)
    coat = [
        (hem, 0.205 * flare, 0.255 * flare * girth),
        (hem + 0.02, 0.21 * flare, 0.26 * flare * girth),
        (hem + 0.22, 0.178, 0.225 * girth),
        (hem + 0.45, 0.150, 0.188 * girth),
        (collar - 0.22, 0.155, 0.205 * girth),
        (collar - 0.09, 0.142, 0.205 * girth),
        (collar - 0.02, 0.108, 0.155 * girth),
        (collar + 0.03, 0.085, 0.095),
    ]
    parts = [
        _sheath("coat", coat),
        melt(
            [
                Limb("coat", (0.0, y, collar + 0.03), (0.04, y / 2, collar + 0.025), 0.04, 0.04)
                for y in (-0.08, 0.08)
            ],
            0.06,
            cells=14,
        ),
        *_limbs(girth, hem, collar, stride, swing, reach),
        *_face(head, ears="short" in form),
        *_buttons(coat, hem),
        *_hair(form.startswith("long"), head, hat=form.endswith("hat"), rng=rng),
    ]
    if form.endswith("hat"):
        parts += _hat(head, rng)
    return assemble(parts)


def _limbs(girth: float, hem: float, collar: float, stride: float, swing: float, reach: float) -> list[Part]:
    """Build legs in mid-step and arms that swing against them."""
    trousers: list[Primitive] = []
    shoes: list[Part] = []
    sleeves: list[Primitive] = []
    hands: list[Part] = []
    for side in (1, -1):
        x, y = side * stride, side * 0.115 * girth
        knee = (0.35 * x + 0.02, y, hem + 0.02)
        trousers += [
            Limb("trousers", (0, y, hem + 0.3), knee, 0.10, 0.092),
            Limb("trousers", knee, (x, y, 0.10), 0.092, 0.078),
        ]
        shoes.append(melt([Limb("shoe", (x - 0.01, y, 0.075), (x + 0.14, y, 0.06), 0.078, 0.064)], 0.02, cells=12))
        forward = -side * stride * swing
        shoulder = (0.0, side * 0.185 * girth, collar - 0.085)
        elbow = (forward * 0.3 - 0.02, side * (0.245 * girth + reach), collar - 0.36)
        wrist = (forward + 0.04, side * (0.275 * girth + reach), collar - 0.60)
        sleeves += chain("coat", [shoulder, elbow, wrist], [0.088, 0.078, 0.080])
        hands.append(egg("skin", (wrist[0] + 0.01, wrist[1], wrist[2] - 0.095), (0.056, 0.048, 0.072), detail=2))
    return [melt(trousers, 0.03, cells=24), melt(sleeves, 0.03, cells=32), *shoes, *hands]


def _face(head: Ring, ears: bool) -> list[Part]:
    """Build head, neck, nose, eyes and a smile, looking along x."""
    x, _, z = head
    skin: list[Primitive] = [
        Egg("skin", head, (0.155, 0.150, 0.180)),
        Limb("skin", (0.0, 0, z - 0.24), (0.0, 0, z - 0.1), 0.075, 0.075),
        Egg("skin", (x + 0.158, 0, z - 0.025), (0.030, 0.024, 0.028)),
    ]
    if ears:
        skin += both([Egg("skin", (x - 0.01, 0.152, z - 0.01), (0.034, 0.024, 0.045))])
    eyes = mirrored(egg("eye", (x + 0.140, 0.062, z + 0.022), (0.020, 0.024, 0.032), yaw=0.40, detail=2))
    arc = [(x + 0.136 - 2.2 * y * y, y, z - 0.088 + 3.2 * y * y) for y in (-0.058, -0.03, 0.0, 0.03, 0.058)]
    smile = melt(chain("mouth", arc, [0.011, 0.013, 0.013, 0.013, 0.011]), 0.01, cells=14)
    return [melt(skin, 0.03, cells=26), *eyes, smile]


def _buttons(coat: Sequence[Ring], hem: float) -> list[Part]:
    """Build three buttons down the front."""
    heights, depths = [ring[0] for ring in coat], [ring[1] for ring in coat]
    places = [(float(np.interp(z, heights, depths)), z) for z in (hem + 0.36, hem + 0.50, hem + 0.64)]
    return [solid("shoe", [(x - 0.004, 0, z)], 0.021) for x, z in places]


def _hair(long: bool, head: Ring, hat: bool, rng: np.random.Generator) -> list[Part]:
    """Build hair: a cap with a fringe that leaves the face free, and for long hair a mane down the back."""
    x, _, z = head
    volume, parting = rng.uniform(0.98, 1.08), rng.choice((-1, 1))
    hair: list[Primitive] = [
        Egg("hair", (x - 0.045, 0, z + 0.045), (0.158 * volume, 0.172 * volume, 0.165 * volume)),
    ]
    if not hat:
        # The fringe sweeps from the parting to the other temple.
        hair += chain(
            "hair",
            [(x + 0.075, parting * 0.075, z + 0.155), (x + 0.115, -parting * 0.02, z + 0.135),
             (x + 0.075, -parting * 0.115, z + 0.075)],
            [0.045, 0.042, 0.03],
        )  # fmt: skip
    if long:
        length = rng.uniform(0.0, 0.07)
        hair += [
            Egg("hair", (x - 0.115, 0, z - 0.16), (0.085, 0.185, 0.26 + length)),
            *both(
                chain(
                    "hair",
                    [
                        (x - 0.03, 0.150, z + 0.03),
                        (x - 0.04, 0.180, z - 0.14),
                        (x - 0.01, 0.180, z - 0.34 - length),
                    ],
                    [0.058, 0.062, 0.036],
                )
            ),
        ]
    else:
        hair += [Egg("hair", (x - 0.085, 0, z - 0.03), (0.105, 0.145, 0.12))]
    return [melt(hair, 0.045, cells=28)]


def _hat(head: Ring, rng: np.random.Generator) -> list[Part]:
    """Build a hat with a brim, or a knitted one with a bobble."""
    x, _, z = head
    if rng.random() < 0.5:
        brim, crown = rng.uniform(0.26, 0.30), rng.uniform(0.18, 0.23)
        base = z + 0.115
        rings = [
            (base, brim * 0.97, brim),
            (base + 0.022, brim, brim * 1.02),
            (base + 0.040, 0.190, 0.192),
            (base + 0.06, 0.182, 0.184),
            (base + crown, 0.150, 0.152),
            (base + crown + 0.035, 0.115, 0.117),
            (base + crown + 0.042, 0.03, 0.03),
        ]
        return [_sheath("hat", rings, x - 0.015)]
    ball = rng.uniform(0.068, 0.085)
    cuff = [
        (z + 0.045, 0.180, 0.184), (z + 0.055, 0.196, 0.200), (z + 0.115, 0.196, 0.200), (z + 0.125, 0.18, 0.184)
    ]  # fmt: skip
    cap: list[Primitive] = [Egg("hat", (x - 0.015, 0, z + 0.105), (0.178, 0.182, 0.175))]
    return [
        melt(cap, 0.02, cells=14),
        _sheath("hat", cuff, x - 0.015),
        egg("hat", (x - 0.02, 0, z + 0.285 + ball * 0.6), (ball, ball, ball), detail=2),
    ]


def _sheath(material: str, rings: Sequence[Ring], x: float = 0.0) -> Part:
    """Build a closed tube of elliptic cross-sections, from bottom to top, around the vertical line at ``x``."""
    sides = 40
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    loops = [
        np.stack([x + depth * np.cos(angle), width * np.sin(angle), np.full(sides, height)], axis=1)
        for height, depth, width in rings
    ]
    vertices = np.concatenate([*loops, [[x, 0, rings[0][0]], [x, 0, rings[-1][0]]]])
    here, beyond = np.arange(sides), (np.arange(sides) + 1) % sides
    faces = []
    for low in range(0, sides * (len(rings) - 1), sides):
        high = low + sides
        faces += [
            np.stack([low + here, low + beyond, high + beyond], axis=1),
            np.stack([low + here, high + beyond, high + here], axis=1),
        ]
    floor, roof, top = sides * len(rings), sides * len(rings) + 1, sides * (len(rings) - 1)
    faces.append(np.stack([beyond, here, np.full(sides, floor)], axis=1))
    faces.append(np.stack([top + here, top + beyond, np.full(sides, roof)], axis=1))
    return Part(vertices, np.concatenate(faces), np.full(len(vertices), material))
