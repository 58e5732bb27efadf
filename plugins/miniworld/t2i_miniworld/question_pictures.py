"""Pictures of questions: drawn once, in several processes, and kept in core's store with what is true of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Scene, Truth
from t2i_core.api.digest import digest_data
from t2i_core.storage.store import Store

from t2i_miniworld.laws import Laws
from t2i_miniworld.layout import plan
from t2i_miniworld.simulator import choose_thing, instances, spread
from t2i_miniworld.workers import map_ordered

#: Light paths per pixel: as many as training pictures of the generator have.
_SAMPLES = 8
#: From so many on, it is said that pictures are drawn: it takes a while.
_MANY = 40
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shot:
    """A picture to take: the scene that it shows, the caption that says it, and what names its random streams."""

    scene: Scene
    caption: str
    key: tuple[str, str, int]

    def digest(self, size: int, code: str) -> str:
        """SHA-256 of all that the picture depends on; ``code``: of the source that draws."""
        return digest_data([self.scene.to_json(), self.caption, list(self.key), size, _SAMPLES, code])


def draw_shot(size: int, shot: Shot) -> tuple[NDArray[np.uint8], Truth]:
    """Draw one picture: a pure function of shot and size (pixels of its side).

    Like a training picture, and unlike one of the simulator's, it leaves no room for what faults would draw.
    """
    from t2i_miniworld.render import draw

    wanted, ties = spread(shot.scene)
    things = [choose_thing(one, Laws(), slot, *shot.key) for slot, one in enumerate(wanted)]
    scene = plan(things, *shot.key, ties=ties).scene
    picture = draw(scene, size, _SAMPLES)
    return picture.image, Truth((size, size), instances(scene, picture), shot.scene, shot.caption)


def taken(shots: Sequence[Shot], size: int, code: str, workers: int | None) -> list[str]:
    """Return the path of each picture, those that are not kept yet drawn now.

    Each is kept as soon as it is drawn, whole, so that a killed command goes on where it was. Raises BadFolder
    where nothing can be kept.
    """
    digests = [shot.digest(size, code) for shot in shots]
    with Store() as store:
        kept = {digest: image.path for digest in digests if (image := store.image(digest)) is not None}
        missing = [(shot, digest) for shot, digest in zip(shots, digests, strict=True) if digest not in kept]
        if len(missing) >= _MANY:
            _log.warning("drawing %d pictures of the mini world, once (a few a second)", len(missing))
        drawn = map_ordered(partial(draw_shot, size), (shot for shot, _ in missing), workers)
        for (_, digest), (_, (image, truth)) in zip(missing, drawn, strict=True):
            kept[digest] = store.put_image(digest, image, truth=truth).path
    return [str(kept[digest]) for digest in digests]
