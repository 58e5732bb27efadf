"""Pictures of questions: what each depends on, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Scene, Truth
from t2i_core.api.digest import digest_data

from t2i_miniworld.laws import Laws
from t2i_miniworld.layout import plan
from t2i_miniworld.simulator import choose_thing, instances, spread

#: Light paths per pixel: as many as training pictures of the generator have.
_SAMPLES = 8


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
