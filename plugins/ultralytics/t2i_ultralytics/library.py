"""ultralytics, imported so that it keeps to itself.

Importing it looks names up in the network, writes settings into the user's folder of configuration (by which it
then sends what is done with it, unless they say no), sets variables that processes started later inherit, and
replaces torch.save, PIL.Image.open (by one that wants to install a package for what is no image) and more. Here it
is imported as offline, with a folder of configuration that is gone at once, and what it changed outside of itself
is put back. Only parts of it that ask no network are imported; its `YOLO` and its predictors, which report to its
makers and load trackers of experiments, are not.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import cv2
import numpy as np
import PIL.Image
import torch
import torchvision  # noqa: F401  the library takes its NMS from here where it is imported, and else its own


@contextmanager
def _quietly() -> Iterator[None]:
    environment, options, threads = dict(os.environ), np.get_printoptions(), cv2.getNumThreads()
    replaced = [(torch, "save"), (PIL.Image, "open"), *((cv2, name) for name in ("imread", "imwrite", "imshow"))]
    before = [getattr(module, name) for module, name in replaced]
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "YOLO_OFFLINE": "true",
            "YOLO_AUTOINSTALL": "false",
            "YOLO_VERBOSE": "false",  # its log goes to standard output, where results are
            "YOLO_CONFIG_DIR": folder,
        }
        try:
            yield
        finally:
            for name in os.environ.keys() - environment.keys():
                del os.environ[name]
            os.environ |= environment
            for (module, name), function in zip(replaced, before, strict=True):
                setattr(module, name, function)
            np.set_printoptions(**options)
            cv2.setNumThreads(threads)


with _quietly():
    import ultralytics
    from ultralytics.data.augment import LetterBox
    from ultralytics.nn import tasks
    from ultralytics.utils import downloads, ops
    from ultralytics.utils.nms import non_max_suppression

__all__ = ["LetterBox", "downloads", "non_max_suppression", "ops", "tasks", "ultralytics"]
