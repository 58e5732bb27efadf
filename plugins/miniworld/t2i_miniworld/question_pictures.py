"""Rendering of the pictures of questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Scene, Truth
from t2i_core.api.digest import digest_data

from t2i_miniworld.laws import Laws
from t2i_miniworld.layout import plan
from t2i_miniworld.simulator import choose_thing, instances, spread

#: Light paths per pixel, as in the generator's training pictures.
_SAMPLES = 8


@dataclass(frozen=True)
class Shot:
    """A picture to render: its scene, its caption, and the key of its random streams."""

    scene: Scene
    caption: str
    key: tuple[str, str, int]

    def digest(self, size: int, code: str) -> str:
        """Return the SHA-256 of everything that the picture depends on; ``code`` is the digest of the source."""
        return digest_data([self.scene.to_json(), self.caption, list(self.key), size, _SAMPLES, code])


def draw_shot(size: int, shot: Shot) -> tuple[NDArray[np.uint8], Truth]:
    """Render one picture. The result depends only on the shot and the size (side in pixels).

    Like training pictures, and unlike the simulator's, its layout leaves no room for faults.
    """
    from t2i_miniworld.render import draw

    wanted, ties = spread(shot.scene)
    things = [choose_thing(one, Laws(), slot, *shot.key) for slot, one in enumerate(wanted)]
    scene = plan(things, *shot.key, ties=ties).scene
    picture = draw(scene, size, _SAMPLES)
    return picture.image, Truth((size, size), instances(scene, picture), shot.scene, shot.caption)
