"""What plugins, benchmarks, training, examples and documentation may import.

import-linter holds the same for packages (`[tool.importlinter]` in pyproject.toml), but not for scripts and pages.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ROOMS = {"api", "files", "io", "results", "statistics", "testing"}
"""The rooms of core that others may import."""

LIBRARIES = {"t2i_torch_support", "t2i_web_support"}
"""The plugins without hooks that others import."""

ROOT_NAMES = {"CheckpointScorer", "ModelRequest", "Request", "Run", "evaluate", "load_run"}

OTHER_PLUGINS = {
    "plugins/miniworld/training/calibrate_detector.py": {"t2i_transformers"},
    "plugins/miniworld/training/evaluate_detector.py": {"t2i_paintskills", "t2i_transformers"},
    "plugins/miniworld/training/evaluate_vqa.py": {"t2i_transformers"},
    "plugins/miniworld/training/train_detector.py": {"t2i_transformers"},
    "plugins/selfeval/benchmarks/elimination.py": {"t2i_diffusers"},
    "plugins/selfeval/benchmarks/speed.py": {"t2i_diffusers"},
}
"""Scripts that import another plugin still."""

PAGES = ["CONTRIBUTING.md", "README.md", *sorted(f"docs/{page.name}" for page in ROOT.glob("docs/*.md"))]

CORE_MODULE = re.compile(r"^\s*(?:from|import) (t2i_core[.\w]*)", re.M)
"""A module of core that a template imports."""

BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.M | re.S)


@dataclass(frozen=True)
class Source:
    """Imported modules, each with the name that is taken from it, and the names of classes."""

    imports: tuple[tuple[str, str | None], ...]
    classes: tuple[str, ...]

    @property
    def packages(self) -> set[str]:
        """The packages of the imported modules."""
        return {module.partition(".")[0] for module, _ in self.imports}


def parse(text: str) -> Source:
    """Read a source's imports and classes, also those inside functions."""
    imports: list[tuple[str, str | None]] = []
    classes = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imports += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            imports += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.ClassDef):
            classes.append(node.name)
    return Source(tuple(imports), tuple(classes))


@cache
def read_source(file: Path) -> Source:
    """Read a file's imports and classes, once for all tests."""
    return parse(file.read_text(encoding="utf-8"))


def find_faults(source: Source) -> list[str]:
    """Return the imports that reach behind core's public rooms."""
    faults = []
    for module, name in source.imports:
        package, _, rest = module.partition(".")
        if package != "t2i_core":
            continue
        room = rest.partition(".")[0] or name
        if room not in ROOMS and (rest or name not in ROOT_NAMES):
            faults.append(f"{module}: {name}" if name else module)
    return faults


def list_packages() -> list[Path]:
    """Return the folders of the packages' sources."""
    return [
        ROOT / "core/t2i_core",
        ROOT / "registry/t2i_registry",
        ROOT / "cli/t2i_cli",
        *ROOT.glob("plugins/*/t2i_*"),
    ]


def find_shared_names(files: Iterable[Path]) -> dict[str, list[str]]:
    """Return the names that two or more classes have, private ones too, with the files that define them."""
    found: dict[str, list[str]] = {}
    for file in files:
        for name in read_source(file).classes:
            found.setdefault(name, []).append(str(file))
    return {name: places for name, places in found.items() if len(places) > 1}


def list_scripts() -> list[Path]:
    """Return the Python files that plugins' authors write or read, tests left out."""
    folders = [*ROOT.glob("plugins/*/t2i_*"), *ROOT.glob("plugins/*/training"), *ROOT.glob("plugins/*/benchmarks")]
    files = [file for folder in [*folders, ROOT / "examples", ROOT / "docs"] for file in folder.rglob("*.py")]
    return sorted(file for file in files if "tests" not in file.relative_to(ROOT).parts)


def test_only_cores_public_rooms_are_imported() -> None:
    scripts = list_scripts()
    assert len(scripts) > 500
    faults = {str(file.relative_to(ROOT)): find_faults(read_source(file)) for file in scripts}
    assert {file: found for file, found in faults.items() if found} == {}


@pytest.mark.parametrize("page", PAGES)
def test_tutorials_import_only_cores_public_rooms(page: str) -> None:
    blocks = [block for _, block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))]
    assert page != "docs/write-a-plugin.md" or len(blocks) > 10
    for block in blocks:
        assert find_faults(parse(block)) == []


def test_a_new_plugin_imports_only_cores_public_rooms() -> None:
    templates = list((ROOT / "cli/t2i_cli/template").rglob("*.py*"))
    assert templates
    for template in templates:
        for module in CORE_MODULE.findall(template.read_text(encoding="utf-8")):
            assert module.partition(".")[2].partition(".")[0] in {"", *ROOMS}, template


def test_scripts_of_plugins_import_no_other_plugin() -> None:
    plugins = {folder.name for folder in ROOT.glob("plugins/*/t2i_*")}
    found: dict[str, set[str]] = {}
    for file in [*ROOT.glob("plugins/*/training/**/*.py"), *ROOT.glob("plugins/*/benchmarks/**/*.py")]:
        (own,) = (folder.name for folder in (ROOT / "plugins" / file.relative_to(ROOT).parts[1]).glob("t2i_*"))
        if others := read_source(file).packages & plugins - {own, *LIBRARIES}:
            found[file.relative_to(ROOT).as_posix()] = others
    assert found == OTHER_PLUGINS


def test_scripts_import_only_their_neighbours_and_packages() -> None:
    scripts = [*ROOT.glob("plugins/*/training/*.py"), *ROOT.glob("plugins/*/benchmarks/*.py")]
    own = {script.stem for script in scripts}
    for script in scripts:
        packages = read_source(script).packages
        assert packages & own <= {file.stem for file in script.parent.glob("*.py")}, script


def test_no_package_imports_a_script() -> None:
    own = {script.stem for script in ROOT.glob("plugins/*/training/*.py")}
    for file in [*ROOT.glob("plugins/*/t2i_*/**/*.py"), *ROOT.glob("c*/t2i_c*/**/*.py")]:
        assert not {module for module, _ in read_source(file).imports} & own, file


def test_no_two_classes_have_one_name() -> None:
    packages = list_packages()
    assert len(packages) > 20
    sources = {file for folder in packages for file in folder.rglob("*.py")}
    assert find_shared_names(sorted({*sources, *list_scripts()})) == {}


def test_one_function_makes_all_tables_of_the_terminal() -> None:
    files = [file for folder in list_packages() for file in folder.rglob("*.py")]
    makers = [
        file.relative_to(ROOT).as_posix()
        for file in files
        if re.search(r"\bTable\(.*\bbox=", file.read_text(encoding="utf-8"))
        or re.search(r"\badd_column\(", file.read_text(encoding="utf-8"))
    ]
    assert makers == ["core/t2i_core/api/terminal.py"]


def test_two_classes_of_one_name_are_found(tmp_path: Path) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("class _Part: ...\nclass Other: ...", encoding="utf-8")
    second.write_text("def f():\n    class _Part: ...", encoding="utf-8")
    assert find_shared_names([first, second]) == {"_Part": [str(first), str(second)]}


def test_every_public_room_is_there() -> None:
    for room in ROOMS:
        import_module(f"t2i_core.{room}")


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from t2i_core.engine.plan import make_plan", 1),
        ("import t2i_core.storage.store", 1),
        ("from t2i_core import engine, evaluate", 1),
        ("def f():\n    from t2i_core.storage.store import Store", 1),
        ("from t2i_core import ModelRequest, Run, evaluate, load_run", 0),
        ("from t2i_core.api import Metric\nfrom t2i_core.files.digest import digest_file", 0),
    ],
)
def test_an_import_behind_the_rooms_is_found(source: str, count: int) -> None:
    assert len(find_faults(parse(source))) == count
