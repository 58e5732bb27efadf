"""Modules that plugins import when they are listed import nothing heavy."""

from __future__ import annotations

import subprocess
import sys


def test_light_modules_may_import_them() -> None:
    code = (
        "import sys; from t2i_torch_support import coco_classes, device, hub_files, pair_questions, url_files; "
        "print({'numpy', 'torch', 'huggingface_hub'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
