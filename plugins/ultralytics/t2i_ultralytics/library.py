"""Import of ultralytics without its side effects.

Importing ultralytics resolves host names, writes settings into the user's configuration folder (which enable usage
reports by default), sets environment variables for child processes, and replaces torch.save, PIL.Image.open (by a
version that may install a package) and more. This module imports it offline, with a temporary configuration
folder, and undoes its changes to other modules. It imports only parts that use no network; `YOLO` and the
predictors, which send reports and load experiment trackers, stay unused.
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
import torchvision  # noqa: F401  the library uses torchvision's NMS only if it is imported already


@contextmanager
def _undo_side_effects() -> Iterator[None]:
    environment, options, threads = dict(os.environ), np.get_printoptions(), cv2.getNumThreads()
    replaced = [(torch, "save"), (PIL.Image, "open"), *((cv2, name) for name in ("imread", "imwrite", "imshow"))]
    before = [getattr(module, name) for module, name in replaced]
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "YOLO_OFFLINE": "true",
            "YOLO_AUTOINSTALL": "false",
            "YOLO_VERBOSE": "false",  # its log would go to standard output, which holds results
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


with _undo_side_effects():
    import ultralytics
    from ultralytics.data.augment import LetterBox
    from ultralytics.nn import tasks
    from ultralytics.utils import downloads, ops
    from ultralytics.utils.nms import non_max_suppression

__all__ = ["LetterBox", "downloads", "non_max_suppression", "ops", "tasks", "ultralytics"]
