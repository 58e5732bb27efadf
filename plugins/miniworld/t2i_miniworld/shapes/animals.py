"""Animals, melted from limbs and eggs. Lengths are in metres, roughly life size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from t2i_miniworld.shapes.blobs import Egg, Limb, Marks, Primitive, both, chain, melt
from t2i_miniworld.shapes.mesh import FloatArray, MeshModel, Part, Point, assemble
from t2i_miniworld.shapes.solids import egg, mirrored, solid


def giraffe(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a giraffe (one form, ``giraffe``): long sloping neck, horns, a net of patches."""
    neck, lean = rng.uniform(0.85, 1.15), rng.uniform(0.75, 1.15)
    girth, step = rng.uniform(0.9, 1.1), rng.uniform(-0.1, 0.1)
    head = (0.50 + 0.42 * lean, 0.0, 1.42 + 0.92 * neck)
    body: list[Primitive] = [
        Limb("body", (-0.42, 0, 1.08), (0.36, 0, 1.22), 0.27 * girth, 0.31 * girth),
        Limb("body", (0.42, 0, 1.32), head, 0.19, 0.105),
        Limb("body", head, (head[0] + 0.16, 0, head[2] - 0.05), 0.115, 0.095),
        Limb("muzzle", (head[0] + 0.16, 0, head[2] - 0.05), (head[0] + 0.32, 0, head[2] - 0.13), 0.085, 0.07),
        *both([Egg("body", (head[0] - 0.05, 0.17, head[2] + 0.06), (0.035, 0.10, 0.05), yaw=0.3)]),
        *both([Limb("horn", (head[0], 0.05, head[2] + 0.08), (head[0] - 0.04, 0.06, head[2] + 0.25), 0.03, 0.04)]),
        *_legs(-0.45, 0.36, 1.02, 0.15, (0.13, 0.07, 0.065), step),
        *chain("horn", [(-0.68, 0, 1.15), (-0.78, 0, 0.85), (-0.8, 0, 0.68)], [0.035, 0.025, 0.06]),
    ]
    patches = _patches(rng, spacing=rng.uniform(0.20, 0.26), gap=0.042, above=0.45)
    return assemble([melt(body, 0.09, patches, cells=84), *_eyes(head, 0.09, 0.035, forward=0.10, up=0.03)])


def elephant(form: str, rng: np.random.Generator) -> MeshModel:
    """Build an elephant: ``african`` with large ears and long tusks, or ``asian`` with small ones."""
    large = form == "african"
    ear, tusk = (rng.uniform(0.40, 0.48), 0.55) if large else (rng.uniform(0.28, 0.34), 0.3)
    girth, step, curl = rng.uniform(0.92, 1.08), rng.uniform(-0.12, 0.12), rng.uniform(0.0, 0.45)
    trunk: list[Point] = [(1.12, 0, 1.50), (1.40, 0, 1.18), (1.46, 0, 0.72), (1.52 + curl / 3, 0, 0.42 + curl)]
    body: list[Primitive] = [
        Egg("body", (-0.05, 0, 1.28), (0.88, 0.52 * girth, 0.58 * girth), pitch=0.06),
        Egg("body", (0.90, 0, 1.60), (0.38, 0.33, 0.40)),
        *chain("body", trunk, [0.25, 0.17, 0.12, 0.085]),
        *_legs(-0.58, 0.50, 1.05, 0.30, (0.25, 0.19, 0.20), step),
        *chain("body", [(-0.9, 0, 1.4), (-1.02, 0, 1.0), (-1.03, 0, 0.8)], [0.06, 0.04, 0.05]),
    ]
    ears = mirrored(egg("ear", (0.66, 0.32 + ear / 3, 1.58), (0.055, ear, ear * 1.12), yaw=0.85))
    tusks = mirrored(_rod("tusk", [(1.10, 0.20, 1.28), (1.30, 0.23, 1.05), (1.30 + tusk * 0.5, 0.23, 1.02)], 0.05))
    eyes = mirrored(solid("eye", [(1.16, 0.24, 1.72)], 0.045))
    return assemble([melt(body, 0.16), *ears, *tusks, *eyes])


def zebra(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a zebra (one form, ``zebra``): a striped horse with an upright mane."""
    girth, step, low = rng.uniform(0.92, 1.1), rng.uniform(-0.14, 0.14), rng.uniform(-0.12, 0.08)
    head = (0.88, 0.0, 1.66 + low)
    nose = (head[0] + 0.33, 0.0, head[2] - 0.26)
    body: list[Primitive] = [
        Limb("body", (-0.46, 0, 1.02), (0.40, 0, 1.02), 0.29 * girth, 0.28 * girth),
        Limb("body", (0.44, 0, 1.14), head, 0.22, 0.15),
        Limb("body", head, nose, 0.155, 0.10),
        Limb("mark", nose, (nose[0] + 0.05, 0, nose[2] - 0.04), 0.105, 0.09),
        *both([Egg("body", (head[0] - 0.06, 0.09, head[2] + 0.20), (0.04, 0.05, 0.12))]),
        *_legs(-0.52, 0.42, 0.9, 0.15, (0.14, 0.075, 0.075), step, foot="mark"),
        *chain("body", [(-0.72, 0, 1.10), (-0.88, 0, 0.88)], [0.05, 0.035]),
        *chain("mark", [(-0.88, 0, 0.88), (-0.92, 0, 0.62)], [0.04, 0.07]),
    ]
    crest: list[Primitive] = [Limb("mark", (0.34, 0, 1.38), (head[0] - 0.10, 0, head[2] + 0.17), 0.055, 0.06)]
    stripes = _stripes(period=rng.uniform(0.17, 0.20), share=0.32, slope=rng.uniform(0.1, 0.5))
    eyes = _eyes(head, 0.13, 0.035, forward=0.10, up=0.03)
    return assemble([melt(body, 0.10, stripes, cells=84), melt(crest, 0.05, cells=30), *eyes])


def dog(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a dog: ``retriever`` (hanging ears), ``shepherd`` (upright ears) or ``dachshund`` (long and low)."""
    long = form == "dachshund"
    leg, length = (0.26, 0.50) if long else (0.46, 0.34)
    leg, length = leg * rng.uniform(0.9, 1.1), length * rng.uniform(0.92, 1.1)
    girth, step, wag = rng.uniform(0.92, 1.1), rng.uniform(-0.07, 0.07), rng.uniform(-0.1, 0.25)
    back = leg + 0.10
    tail = [(-length - x, 0, back + z) for x, z in ((0.10, 0.06), (0.27, 0.16), (0.36, 0.32 + wag))]
    head = (length + 0.24, 0.0, back + 0.36)
    nose = (head[0] + 0.30, 0.0, head[2] - 0.07)
    body: list[Primitive] = [
        Limb("body", (-length, 0, back), (length, 0, back + 0.02), 0.14 * girth, 0.18 * girth),
        Limb("body", (length, 0, back + 0.10), head, 0.14, 0.12),
        Egg("body", head, (0.17, 0.15, 0.155)),
        Limb("chest", (head[0] + 0.10, 0, head[2] - 0.045), (nose[0] - 0.04, 0, nose[2]), 0.09, 0.062),
        Egg("chest", (length + 0.09, 0, back - 0.02), (0.12, 0.11, 0.14)),
        *_legs(-length, length, leg + 0.03, 0.10, (0.095, 0.05, 0.055), step, foot="chest", paws=0.05),
        *chain("body", tail, [0.05, 0.05, 0.03]),
    ]
    if form == "shepherd":
        root, tip = (head[0] - 0.05, 0.085, head[2] + 0.10), (head[0] - 0.07, 0.11, head[2] + 0.27)
        ears = [melt(both([Limb("ear", root, tip, 0.06, 0.015)]), 0.02, cells=30)]
    else:
        ears = mirrored(egg("ear", (head[0] - 0.04, 0.155, head[2] - 0.03), (0.075, 0.035, 0.155)))
    eyes = _eyes(head, 0.075, 0.03, forward=0.14, up=0.05)
    parts = [melt(body, 0.08, cells=60), *ears, solid("mark", [nose], 0.05), *eyes]
    return assemble(parts)


def bear(form: str, rng: np.random.Generator) -> MeshModel:
    """Build a bear: ``standing`` on four heavy legs with its head low, or ``sitting`` with its soles ahead."""
    return _standing_bear(rng) if form == "standing" else _sitting_bear(rng)


def _standing_bear(rng: np.random.Generator) -> MeshModel:
    girth, step = rng.uniform(0.92, 1.08), rng.uniform(0.05, 0.15) * rng.choice((-1, 1))
    low, hump = rng.uniform(-0.10, 0.08), rng.uniform(0.9, 1.15)
    head = (0.98, 0.0, 1.00 + low)
    body: list[Primitive] = [
        Limb("body", (-0.52, 0, 0.80), (0.32, 0, 0.82), 0.37 * girth, 0.37 * girth),
        Egg("body", (0.30, 0, 1.04), (0.32, 0.26 * girth, 0.22 * hump)),
        Limb("body", (0.42, 0, 0.94), (0.86, 0, head[2] - 0.02), 0.32, 0.25),
        *_bear_head(head),
        *_legs(-0.58, 0.42, 0.72, 0.22 * girth, (0.25, 0.18, 0.165), step, foot="body", paws=0.11),
        Egg("body", (-0.92, 0, 0.92), (0.08, 0.07, 0.09)),
    ]
    claws = [
        _claw((x + side * swing + 0.11 + 0.16, side * 0.22 * girth + y, 0.075))
        for x, swing in ((-0.58, step), (0.42, -step))
        for side in (1, -1)
        for y in (-0.10, 0.0, 0.10)
    ]
    return assemble([melt(body, 0.14, cells=64), *_bear_face(head), *claws])


def _sitting_bear(rng: np.random.Generator) -> MeshModel:
    girth, apart, tall = rng.uniform(0.92, 1.1), rng.uniform(0.36, 0.46), rng.uniform(-0.06, 0.06)
    hang = rng.uniform(-0.06, 0.08)
    head = (0.10, 0.0, 1.30 + tall)
    body: list[Primitive] = [
        Egg("body", (-0.06, 0, 0.55), (0.44 * girth, 0.46 * girth, 0.55)),
        Egg("body", (-0.02, 0, 0.90 + tall / 2), (0.33, 0.37 * girth, 0.33)),
        *_bear_head(head),
        *both(
            chain("body", [(0.06, 0.34, 0.98), (0.26, 0.46, 0.66), (0.46, 0.36, 0.50 + hang)], [0.17, 0.15, 0.155])
        ),
        *both(chain("body", [(0.0, 0.30, 0.26), (0.62, apart, 0.20)], [0.27, 0.185])),
        *both([Egg("body", (0.74, apart, 0.25), (0.13, 0.185, 0.25))]),
    ]
    soles = mirrored(egg("muzzle", (0.855, apart, 0.20), (0.035, 0.095, 0.10), detail=2))
    toes = [
        part
        for y, z in ((-0.10, 0.355), (0.0, 0.39), (0.10, 0.355))
        for part in mirrored(egg("muzzle", (0.850, apart + y, z), (0.03, 0.038, 0.038), detail=1))
    ]
    claws = [part for y in (-0.085, 0.0, 0.085) for part in mirrored(_claw((0.60, 0.36 + y, 0.44 + hang)))]
    return assemble([melt(body, 0.12, cells=46), *_bear_face(head), *soles, *toes, *claws])


def _bear_head(head: Point) -> list[Primitive]:
    x, _, z = head
    return [
        Egg("body", head, (0.27, 0.29, 0.255)),
        Limb("muzzle", (x + 0.19, 0, z - 0.08), (x + 0.36, 0, z - 0.115), 0.145, 0.115),
        *both([Egg("body", (x - 0.06, 0.215, z + 0.225), (0.065, 0.115, 0.115), yaw=0.25)]),
    ]


def _bear_face(head: Point) -> list[Part]:
    x, _, z = head
    inner = mirrored(egg("ear", (x - 0.005, 0.225, z + 0.225), (0.035, 0.068, 0.068), yaw=0.25, detail=2))
    nose = solid("mark", [(x + 0.455, y, z - 0.075) for y in (-0.035, 0.035)], 0.05)
    return [*inner, nose, *_eyes(head, 0.115, 0.042, forward=0.225, up=0.075)]


def _claw(root: Point) -> Part:
    x, y, z = root
    return solid("claw", [(x - 0.03, y, z), (x + 0.035, y, z - 0.035)], 0.027)


def _legs(
    hind: float,
    fore: float,
    height: float,
    apart: float,
    radii: tuple[float, float, float],
    step: float,
    foot: str = "foot",
    paws: float = 0.0,
) -> list[Primitive]:
    """Build four legs in mid-stride; ``radii`` at hip, knee and foot, ``step`` how far the feet swing."""
    hip, knee, ankle = radii
    legs: list[Primitive] = []
    for x, swing in ((hind, step), (fore, -step)):
        for side in (1, -1):
            y, reach = side * apart, side * swing
            joint = (x + 0.3 * reach, y, height * 0.5)
            end = (x + reach, y, ankle + 0.08 * height)
            sole = (x + reach + paws, y, ankle)
            legs += [
                Limb("body", (x, y, height), joint, hip, knee),
                Limb("body", joint, end, knee, ankle),
                Limb(foot, end, sole, ankle, ankle * 1.08),
            ]
    return legs


def _eyes(head: Point, apart: float, radius: float, forward: float, up: float) -> list[Part]:
    return mirrored(solid("eye", [(head[0] + forward, apart, head[2] + up)], radius))


def _rod(material: str, points: list[Point], radius: float) -> Part:
    return melt(chain(material, points, [radius, radius * 0.9, radius * 0.4]), 0.03, cells=24)


def _patches(rng: np.random.Generator, spacing: float, gap: float, above: float) -> Marks:
    """Return marks of giraffe patches: cells of a Voronoi diagram on the skin, with gaps along their borders."""

    def marks(vertices: FloatArray, material: NDArray[np.str_]) -> NDArray[np.str_]:
        skin = np.flatnonzero((material == "body") & (vertices[:, 2] > above))
        seeds, left = [], vertices[rng.permutation(skin)]
        while len(left):
            seeds.append(left[0])
            left = left[np.linalg.norm(left - left[0], axis=1) > spacing]
        distance = np.linalg.norm(vertices[skin, None] - np.array(seeds)[None], axis=-1)
        nearest = np.partition(distance, 1, axis=1)
        inside = nearest[:, 1] - nearest[:, 0] > gap
        material[skin[inside]] = "patch"
        return material

    return marks


def _stripes(period: float, share: float, slope: float) -> Marks:
    """Return marks of zebra stripes, across trunk, legs, neck and face; a ``share`` of the skin is dark."""

    def marks(vertices: FloatArray, material: NDArray[np.str_]) -> NDArray[np.str_]:
        x, z = vertices[:, 0], vertices[:, 2]
        trunk = x + slope * (z - 1.0) * np.sign(x + 0.05)
        neck = 0.6 * x + 0.8 * (z - 1.14)
        # The fields meet with a fixed phase, so stripes bend where legs and neck grow out of the trunk.
        phase = np.where(z < 0.78, z * 1.25, np.where(x > 0.52, neck, trunk))
        dark = (phase / period) % 1 < share
        material[(material == "body") & dark] = "mark"
        return material

    return marks
