"""What can be imported from `t2i_core`: names that are loaded when first used, and what type checkers see."""

from __future__ import annotations

import ast
from pathlib import Path

import t2i_core


def test_type_checkers_see_the_names_that_there_are() -> None:
    module = ast.parse(Path(t2i_core.__file__).read_text(encoding="utf-8"))
    (seen,) = (node for node in module.body if isinstance(node, ast.If))
    imports = [node for node in seen.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    assert homes == {name: (home, name) for name, home in t2i_core._HOME.items()}
    assert all(getattr(t2i_core, name) is not None for name in t2i_core.__all__)
