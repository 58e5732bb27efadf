import mitsuba as mi
import numpy as np
import pytest
from t2i_miniworld import camera, owners, render
from t2i_miniworld.classes import model
from t2i_miniworld.layout import lay_out, world_points
from t2i_miniworld.scene import Thing

SCENES = [
    lay_out([Thing("elephant"), Thing("chair")], "owners", 0),
    lay_out([Thing("bike"), Thing("human"), Thing("potted plant"), Thing("dog")], "owners", 1),
]
#: An upright square about the point that the camera looks at, of two triangles; and one half as wide before it.
SQUARE = np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], dtype=float)
NEARER = SQUARE / 2 - np.array([0, 1, 0])
FACES = np.array([[0, 1, 2], [0, 2, 3]])


def in_world(scene):
    models = [model(placed.thing.kind, placed.form, placed.variant) for placed in scene.placed]
    return [(world_points(m.vertices, p), m.faces) for m, p in zip(models, scene.placed, strict=True)]


def traced(scene, size):
    """Owners as Mitsuba has them, by a ray through each pixel's centre."""
    meshes = [render._mesh(p, *shape) for p, shape in zip(scene.placed, in_world(scene), strict=True)]
    things = {f"thing{number}": mesh for number, mesh in enumerate(meshes)}
    world = mi.load_dict(render._world(scene.stage, things, size))
    centred = {"type": "stratified", "jitter": False}
    sensor = mi.load_dict(render._sensor(scene.stage, size) | {"sampler": centred})
    aov = mi.load_dict({"type": "aov", "aovs": "shape:shape_index"})
    seen = np.round(np.array(mi.render(world, sensor=sensor, integrator=aov, spp=1))[..., -1])
    # It counts shapes from 1; 0 is the sky.
    number = {shape.id(): at for at, shape in enumerate(world.shapes(), start=1)}
    return sum((slot + 1) * (seen == number[mesh.id()]) for slot, mesh in enumerate(meshes)) - 1


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("size", [64, 200])
def test_they_are_what_a_ray_through_each_centre_meets(scene, size):
    found = owners.owners(in_world(scene), scene.stage.elevation, size)
    assert found.dtype == np.int8
    assert set(np.unique(found)) == set(range(-1, len(scene.placed)))
    assert (found != traced(scene, size)).sum() <= 2  # rounding, where an edge meets a centre


def test_nearer_objects_hide_those_behind_in_any_order():
    back_first = owners.owners([(SQUARE, FACES), (NEARER, FACES)], 0.0, 100)
    front_first = owners.owners([(NEARER, FACES), (SQUARE, FACES)], 0.0, 100)
    assert back_first[50, 50] == 1
    np.testing.assert_array_equal(np.array([1, 0, -1])[front_first], back_first)


def test_a_square_is_as_large_as_the_camera_sees_it():
    """No centre is lost where the two triangles meet, and none is won outside."""
    at, _ = camera.project(SQUARE, 0.0)
    low, high = at.min(axis=0) * 100, at.max(axis=0) * 100
    expected = np.full((100, 100), -1)
    rows, columns = (slice(*np.round((low[axis], high[axis])).astype(int)) for axis in (1, 0))
    expected[rows, columns] = 0
    np.testing.assert_array_equal(owners.owners([(SQUARE, FACES)], 0.0, 100), expected)


def test_outside_the_picture_and_on_edge_nothing_is_owned():
    beside, on_edge = SQUARE + np.array([9, 0, 0]), SQUARE * np.array([0, 1, 1])
    assert (owners.owners([(beside, FACES), (on_edge, FACES)], 0.0, 100) == -1).all()


def test_batches_change_nothing(monkeypatch):
    shapes = in_world(SCENES[0])
    whole = owners.owners(shapes, 12.0, 128)
    monkeypatch.setattr(owners, "_BATCH", 1000)
    np.testing.assert_array_equal(owners.owners(shapes, 12.0, 128), whole)
