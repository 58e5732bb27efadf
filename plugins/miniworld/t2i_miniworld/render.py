"""Rendering of a scene with Mitsuba 3: the picture, and the visible pixels of each thing.

The variant `scalar_rgb` runs everywhere without system libraries. The box filter keeps pixels independent. A
picture depends only on its scene, size and samples: it has the same bytes in any process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import drjit
import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

mi.set_variant("scalar_rgb")
# the work is distributed over processes (`workers`), so each process uses one thread
drjit.set_thread_count(1)
# its warnings (samples rounded up to a grid) do not matter to users
mi.set_log_level(mi.LogLevel.Error)

from t2i_miniworld import camera  # noqa: E402
from t2i_miniworld.classes import KINDS, model  # noqa: E402
from t2i_miniworld.layout import world_points  # noqa: E402
from t2i_miniworld.owners import owners  # noqa: E402
from t2i_miniworld.palette import PAINTS, RGB, to_linear, to_srgb  # noqa: E402
from t2i_miniworld.scene import Placed, PlacedScene, Stage  # noqa: E402
from t2i_miniworld.shapes.mesh import FloatArray, IntArray, MeshModel  # noqa: E402

SMALLEST, LARGEST = 64, 1024

#: Seed of the sampler, the same for all pictures, because the scenes differ anyway.
_NOISE = mi.UInt32(7)


@dataclass(frozen=True)
class RenderedPicture:
    """A rendered scene: the image, and the thing that each pixel shows.

    Attributes:
        image: (H, W, 3) uint8 sRGB.
        owner: (H, W) int8, the index in `PlacedScene.placed` or -1.
    """

    image: NDArray[np.uint8]
    owner: NDArray[np.int8]


def draw(scene: PlacedScene, size: int = 128, samples: int = 16) -> RenderedPicture:
    """Render a scene. A pixel belongs to the thing at its centre.

    Args:
        scene: The scene.
        size: Side of the picture in pixels, 64 to 1024.
        samples: Light paths per pixel, at least 1.

    Raises:
        ValueError: If the size or number of samples is out of range.
    """
    check_size(size, samples)
    shapes = [(world_points(_model(placed).vertices, placed), _model(placed).faces) for placed in scene.placed]
    meshes = [_mesh(placed, *shape) for placed, shape in zip(scene.placed, shapes, strict=True)]
    things = {f"thing{number}": mesh for number, mesh in enumerate(meshes)}
    return RenderedPicture(
        render_stage(scene.stage, things, size, samples), owners(shapes, scene.stage.elevation, size)
    )


def check_size(size: int, samples: int) -> None:
    """Raise ValueError if the size of a picture or its number of samples is out of range."""
    if not SMALLEST <= size <= LARGEST:
        raise ValueError(f"size must be between {SMALLEST} and {LARGEST} pixels (got {size})")
    if samples < 1:
        raise ValueError(f"samples must be at least 1 (got {samples})")


def render_stage(stage: Stage, things: Mapping[str, object], size: int, samples: int) -> NDArray[np.uint8]:
    """Render a stage with shapes, by their names in Mitsuba's scene.

    Returns:
        uint8 of shape (size, size, 3), sRGB.

    Raises:
        ValueError: If the size or number of samples is out of range.
    """
    check_size(size, samples)
    world = mi.load_dict(_world(stage, things, size))
    # blocks seed the noise, and their default size depends on the number of threads
    light = mi.load_dict({"type": "path", "max_depth": 3, "hide_emitters": True, "block_size": 32})
    linear = np.array(mi.render(world, integrator=light, spp=samples, seed=_NOISE), dtype=np.float64)
    alpha = linear[..., 3:4]
    return to_srgb(linear[..., :3] + (1 - alpha) * _backdrop(stage, size))


def _world(stage: Stage, things: Mapping[str, object], size: int) -> dict[str, object]:
    azimuth, height = np.radians(stage.sun_azimuth), np.radians(stage.sun_elevation)
    toward = np.array([np.sin(azimuth) * np.cos(height), -np.cos(azimuth) * np.cos(height), np.sin(height)])
    tint = np.array([1 + 0.05 * stage.warmth, 1.0, 1 - 0.07 * stage.warmth])
    return {
        "type": "scene",
        "sensor": _sensor(stage, size),
        # hit by scattered rays only: choosing at random between sky and sun would add noise
        "sky": {"type": "constant", "radiance": stage.ambient, "sampling_weight": 0.0},
        "sun": {
            "type": "directional",
            "direction": (-toward).tolist(),
            "irradiance": {"type": "rgb", "value": (np.pi * stage.sun * tint).tolist()},
        },
        "ground": _ground(stage.ground),
        **things,
    }


def _sensor(stage: Stage, size: int) -> dict[str, object]:
    return {
        "type": "perspective",
        "fov": camera.FIELD_OF_VIEW,
        "to_world": mi.ScalarTransform4f().look_at(
            origin=camera.origin(stage.elevation).tolist(), target=[0, 0, 0], up=[0, 0, 1]
        ),
        "film": {
            "type": "hdrfilm",
            "width": size,
            "height": size,
            "pixel_format": "rgba",
            "component_format": "float32",
            "rfilter": {"type": "box"},
        },
        "sampler": {"type": "multijitter"},
    }


def _mesh(placed: Placed, points: FloatArray, faces: IntArray) -> mi.Mesh:
    """Return the mesh of a thing with these world points (V, 3) and triangles (F, 3)."""
    built = _model(placed)
    angle = np.radians(placed.yaw)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    normals = (built.normals / np.asarray(placed.stretch)) @ turn.T
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    bsdf = {"type": "diffuse", "reflectance": {"type": "mesh_attribute", "name": "vertex_color"}}
    mesh = _empty(f"thing{placed.slot}", len(points), len(faces), bsdf, has_vertex_normals=True)
    mesh.add_attribute("vertex_color", 3, [0.0] * points.size)
    colours = _colours(placed)[built.material]
    _fill(mesh, vertex_positions=points, vertex_normals=normals, vertex_color=colours, faces=faces)
    return mesh


def _ground(colour: RGB) -> mi.Mesh:
    """Return a square far larger than the view. Two triangles are faster than Mitsuba's rectangle."""
    bsdf = {"type": "diffuse", "reflectance": {"type": "rgb", "value": to_linear(colour).tolist()}}
    mesh = _empty("ground", 4, 2, bsdf)
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    _fill(mesh, vertex_positions=400.0 * corners, faces=np.array([[0, 1, 2], [0, 2, 3]]))
    return mesh


def _empty(
    name: str, vertices: int, faces: int, bsdf: dict[str, Any], has_vertex_normals: bool = False
) -> mi.Mesh:
    props = mi.Properties()
    props["mesh_bsdf"] = mi.load_dict(bsdf)
    mesh = mi.Mesh(name, vertices, faces, has_vertex_normals=has_vertex_normals, props=props)
    mesh.set_id(name)
    return mesh


def _fill(mesh: mi.Mesh, **buffers: FloatArray | IntArray) -> None:
    parameters = mi.traverse(mesh)
    for name, values in buffers.items():
        # in place, because assigning a parameter copies it number by number
        parameters[name].numpy()[:] = values.ravel()
    mesh.parameters_changed(list(buffers))


def _model(placed: Placed) -> MeshModel:
    return model(placed.thing.kind, placed.form, placed.variant)


def _colours(placed: Placed) -> FloatArray:
    """Return linear colours (M, 3) of the materials of a thing's model, with its paint where it takes paint."""
    kind = KINDS[placed.thing.kind]
    natural = kind.marks | kind.coats[placed.look]
    if placed.thing.paint == "black" and kind.on_black:
        natural |= kind.on_black
    colours = []
    for material in _model(placed).materials:
        paint = placed.coat if material == "coat" and placed.thing.paint is None else placed.thing.paint
        if paint is not None and material in kind.paint:
            colours.append(to_linear(PAINTS[paint]) * kind.paint[material])
        else:
            # a look names only materials that differ; the others have the colour of the body
            colours.append(to_linear(natural[material if material in natural else "body"]))
    return np.array(colours)


def _backdrop(stage: Stage, size: int) -> FloatArray:
    """Return the sky behind the ground (size, 1, 3), linear, slightly lighter towards the horizon."""
    rows = (np.arange(size) + 0.5) / size
    glow = 0.94 + 0.12 * np.clip(rows / max(camera.horizon(stage.elevation), 1e-3), 0, 1)
    return glow[:, None, None] * to_linear(stage.background)
