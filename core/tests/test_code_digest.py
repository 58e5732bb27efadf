"""Digests of code: equal in every process, different for every difference that results can depend on."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from t2i_core.api import Options, Prompt
from t2i_core.engine.code.digest import UnhashableCode, digest_code, is_installed
from t2i_core.engine.code.distributions import find_origin
from t2i_core.testing import TEST_MODEL

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.frozensets(st.text() | st.integers()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=4)
        | st.sets(st.text() | st.tuples(st.integers(), st.text()), max_size=5)
    ),
    max_leaves=12,
)


def run(source: str, **names: Any) -> dict[str, Any]:
    """Execute source as a notebook cell would be, and return its names."""
    names = {"__name__": "__main__", **names}
    exec(compile(source, f"<cell {id(names)}>", "exec"), names)
    return names


def digest(source: str, name: str = "f", **names: Any) -> str:
    return digest_code(run(source, **names)[name])


# equal values, equal digests ----------------------------------------------------------------------------------

IN_ANOTHER_PROCESS = """
import json, sys
from t2i_core.engine.code.digest import digest_code
cells = json.load(sys.stdin)
digests = []
for cell in cells:
    names = {"__name__": "__main__"}
    exec(compile(cell, "<another>", "exec"), names)
    digests.append(digest_code(names["f"]))
print(json.dumps(digests))
"""

CELLS = [
    "def f(x): return x in {'a', 'b', 'c', 'd'}",
    "colours = {'red', 'green', 'blue', ('a', 1)}\nf = lambda: colours",
    "def make(k):\n    def inner(x, *, m=2): return x * k * m\n    return inner\nf = make({'u', 'v', 'w'})",
    "class f:\n    a = 1\n    def g(self): return super().__init__() or even(3)\n"
    "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)",
    "import enum\nclass Colour(enum.Enum):\n    RED = 1\n    BLUE = 2\nf = {Colour.RED, Colour.BLUE}",
    "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass D:\n    a: int = 1\n"
    "    b: object = dataclasses.field(default=print)\n    c: list = dataclasses.field(default_factory=list)\n"
    "f = [D(), D(2)]",
    "import functools, numpy as np\nf = functools.partial(np.add, np.arange(12).reshape(3, 4).T)",
    "import functools\n@functools.cache\ndef f(x): return {x, 'y', 'z'}",
    "from t2i_core.api import Options\nimport pydantic\nclass Own(Options):\n    x: float = 0.5\n"
    "    @pydantic.field_validator('x')\n    @classmethod\n    def check(cls, x): return x\nf = Own(x=0.25)",
    "class Ring:\n    def __init__(self): self.me, self.some = self, {self, 'a', 'b'}\nf = Ring()",
    "from random import randint\nfrom numpy.random import normal\ndef f(): return randint(0, 3) + normal()",
    "import typing, abc\nclass f(typing.Protocol):\n    @abc.abstractmethod\n    def g(self) -> int: ...",
]


def digests_elsewhere(cells: list[str], seed: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS],
        input=json.dumps(cells),
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@pytest.mark.long
def test_equal_code_has_equal_digests_in_every_process() -> None:
    values: list[Any] = []
    given(plain)(lambda value: values.append(value))()
    shown = [f"nan, inf = float('nan'), float('inf')\nf = {value!r}" for value in values[:60]]
    cells = [*CELLS, *shown]
    first, second = (digests_elsewhere(cells, seed) for seed in ("1", "2"))
    for cell, here, there in zip(cells, first, second, strict=True):
        assert here == there, cell
    assert len(set(first[: len(CELLS)])) == len(CELLS)


@pytest.mark.long
@given(plain)
def test_a_copy_has_the_same_digest(value: Any) -> None:
    again = eval(repr(value), {"nan": math.nan, "inf": math.inf})
    assert digest_code(again) == digest_code(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x): return x + 1", "\n\n# a comment\ndef f(x):\n    # another\n    return (x +\n        1)"),
        ("k = 3\nunused = 1\ndef f(): return k", "k = 3\nunused = 2\ndef f(): return k"),
        ("f = {'b', 'a'}", "f = {'a', 'b'}"),
    ],
)
def test_digests_ignore_unused_values(one: str, other: str) -> None:
    assert digest(one) == digest(other)


def test_digests_ignore_cached_results() -> None:
    cell = run("import functools\n@functools.cache\ndef g(x): return x\ndef f(x): return g(x)")
    before = digest_code(cell["f"])
    cell["f"](3)
    assert digest_code(cell["f"]) == before
    prompt = Prompt("id", "text")
    before = digest_code(prompt)
    assert prompt.text_digest
    assert digest_code(prompt) == before


# different values, different digests --------------------------------------------------------------------------

DIFFERENT = {
    "constant": ("def f(): return 0.5", "def f(): return 0.7"),
    "operator": ("def f(x): return x + 1", "def f(x): return x - 1"),
    "nested constant": ("def f(): return [i * 2 for i in [1]]", "def f(): return [i * 3 for i in [1]]"),
    "called name": ("def f(x): return x.rise()", "def f(x): return x.fall()"),
    "int or float": ("def f(): return 1", "def f(): return 1.0"),
    "int or bool": ("f = 1", "f = True"),
    "zeros": ("f = 0.0", "f = -0.0"),
    "exception caught": (
        "def f():\n    try: g()\n    except KeyError: return 1",
        "def f():\n    try: g()\n    except ValueError: return 1",
    ),
    "default": ("def f(x=1): pass", "def f(x=2): pass"),
    "keyword default": ("def f(*, x=1): pass", "def f(*, x=2): pass"),
    "global": ("k = 1\ndef f(): return k", "k = 2\ndef f(): return k"),
    "global list": ("k = [1]\ndef f(): return k", "k = [2]\ndef f(): return k"),
    "global that appears": ("def f(): return k", "k = 1\ndef f(): return k"),
    "shadowed builtin": ("def f(x): return len(x)", "def len(x): return 3\ndef f(x): return len(x)"),
    "helper": ("def g(): return 1\ndef f(): return g()", "def g(): return 2\ndef f(): return g()"),
    "helper's global": (
        "k = 1\ndef g(): return k\ndef f(): return [g() for _ in 'ab']",
        "k = 2\ndef g(): return k\ndef f(): return [g() for _ in 'ab']",
    ),
    "closure": ("def m(k): return lambda: k\nf = m(1)", "def m(k): return lambda: k\nf = m(2)"),
    "partial": (
        "from functools import partial\nf = partial(int, base=2)",
        "from functools import partial\nf = partial(int, base=8)",
    ),
    "method": ("class f:\n    def g(self): return 1", "class f:\n    def g(self): return 2"),
    "property": (
        "class f:\n    @property\n    def g(self): return 1",
        "class f:\n    @property\n    def g(self): return 2",
    ),
    "static method": (
        "class f:\n    @staticmethod\n    def g(): return 1",
        "class f:\n    @staticmethod\n    def g(): return 2",
    ),
    "cached property": (
        "from functools import cached_property\nclass f:\n    @cached_property\n    def g(self): return 1",
        "from functools import cached_property\nclass f:\n    @cached_property\n    def g(self): return 2",
    ),
    "class attribute": ("class f: k = 1", "class f: k = 2"),
    "base": (
        "class b:\n    def g(self): return 1\nclass f(b): pass",
        "class b:\n    def g(self): return 2\nclass f(b): pass",
    ),
    "instance": (
        "class c:\n    def __init__(self, k): self.k = k\nf = c(1)",
        "class c:\n    def __init__(self, k): self.k = k\nf = c(2)",
    ),
    "slots": (
        "class c:\n    __slots__ = 'k'\n    def __init__(self, k): self.k = k\nf = c(1)",
        "class c:\n    __slots__ = 'k'\n    def __init__(self, k): self.k = k\nf = c(2)",
    ),
    "bound method": (
        "class c:\n    def __init__(self, k): self.k = k\n    def g(self): pass\nf = c(1).g",
        "class c:\n    def __init__(self, k): self.k = k\n    def g(self): pass\nf = c(2).g",
    ),
    "class of an instance": (
        "class c:\n    def g(self): return 1\nx = c()\ndef f(): return x",
        "class c:\n    def g(self): return 2\nx = c()\ndef f(): return x",
    ),
    "field": (
        "import dataclasses\n@dataclasses.dataclass\nclass f:\n    a: int = 1",
        "import dataclasses\n@dataclasses.dataclass\nclass f:\n    a: int = 2",
    ),
    "enum": ("import enum\nclass f(enum.Enum): A = 1", "import enum\nclass f(enum.Enum): A = 2"),
    "option": (
        "from t2i_core.api import Options\nclass f(Options):\n    a: int = 1",
        "from t2i_core.api import Options\nclass f(Options):\n    a: int = 2",
    ),
    "wrapped": (
        "import functools\nk = 1\n@functools.wraps(json_dumps)\ndef f(): return k",
        "import functools\nk = 2\n@functools.wraps(json_dumps)\ndef f(): return k",
    ),
    "decorated": (
        "import functools\n@functools.cache\ndef f(): return 1",
        "import functools\n@functools.cache\ndef f(): return 2",
    ),
    "order of a list": ("f = [1, 2]", "f = [2, 1]"),
    "nesting": ("f = [[1], 2]", "f = [[1, 2]]"),
    "path": ("from pathlib import Path\nf = Path('a')", "from pathlib import Path\nf = Path('b')"),
    "array": ("import numpy as np\nf = np.arange(3)", "import numpy as np\nf = np.arange(3) + 1"),
    "shape": ("import numpy as np\nf = np.zeros((2, 3))", "import numpy as np\nf = np.zeros((3, 2))"),
    "type of an array": ("import numpy as np\nf = np.zeros(2)", "import numpy as np\nf = np.zeros(2, 'i8')"),
    "array of objects": (
        "import numpy as np\nf = np.array([1, 'a'], object)",
        "import numpy as np\nf = np.array([1, 'b'], object)",
    ),
    "time": (
        "from datetime import datetime\nf = datetime(2024, 1, 1)",
        "from datetime import datetime\nf = datetime(2024, 1, 2)",
    ),
    "state of a generator of numbers": (
        "import random\nf = random.Random(1)",
        "import random\nf = random.Random(2)",
    ),
}


@pytest.mark.parametrize("difference", DIFFERENT)
def test_a_difference_gives_another_digest(difference: str) -> None:
    one, other = (digest(cell, json_dumps=json.dumps) for cell in DIFFERENT[difference])
    assert one != other


@given(plain, plain)
def test_different_constants_have_different_digests(one: Any, other: Any) -> None:
    same = _describe(one) == _describe(other)
    cells = [run("def f(): return k", k=value)["f"] for value in (one, other)]
    assert (digest_code(cells[0]) == digest_code(cells[1])) == same


def _describe(value: Any) -> Any:
    """Return what tells constants apart: their types too, but not the order of sets."""
    if isinstance(value, set | frozenset):
        return type(value), frozenset(map(_describe, value))
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_describe, value))
    if isinstance(value, dict):
        return dict, tuple((_describe(key), _describe(one)) for key, one in value.items())
    return repr(value)


def test_modules_of_ones_own_count_by_what_is_taken_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_tools.py").write_text("k = 1\nother = 1\ndef draw(): return k\n")
    for cell in (
        "import own_tools\ndef f(): return own_tools.draw()",
        "from own_tools import draw as f",
        "def f():\n    from own_tools import draw\n    return draw()",
        "def f():\n    import own_tools\n    return own_tools.draw()",
    ):
        function = run(cell)["f"]
        before = digest_code(function)
        monkeypatch.setattr("own_tools.k", 2)
        assert digest_code(function) != before
        monkeypatch.undo()
        monkeypatch.syspath_prepend(tmp_path)
        assert digest_code(function) == before
    function = run("import own_tools\ndef f(): return own_tools.draw()")["f"]
    before = digest_code(function)
    monkeypatch.setattr("own_tools.other", 2)
    assert digest_code(function) == before


def test_a_module_that_is_imported_when_called_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    digests = set()
    for n, statement in enumerate(["from {} import tools", "import {}.tools", "from {}.tools import draw"]):
        for shade in (1, 2):
            package = tmp_path / f"own_lazy_{n}_{shade}"
            package.mkdir()
            (package / "__init__.py").touch()
            (package / "tools.py").write_text(f"def draw(): return {shade}")
            before = digest(f"def f():\n    {statement.format(package.name)}")
            assert digest(f"def f():\n    {statement.format(package.name)}") == before
            digests.add(before)
            (package / "tools.py").write_text(f"def draw(): return {shade + 10}")
            for name in [name for name in sys.modules if name.startswith(package.name)]:
                del sys.modules[name]
            shutil.rmtree(package / "__pycache__")
            digests.add(digest(f"def f():\n    {statement.format(package.name)}"))
    assert len(digests) == 12


def test_tensors_and_networks_count_by_their_values() -> None:
    import torch

    def network(weight: float) -> torch.nn.Module:
        layer = torch.nn.Linear(3, 2)
        torch.nn.init.constant_(layer.weight, weight)
        torch.nn.init.zeros_(layer.bias)
        return torch.nn.Sequential(layer, torch.nn.BatchNorm1d(2))

    assert digest_code(network(0.5)) == digest_code(network(0.5))
    assert digest_code(network(0.5)) != digest_code(network(0.25))
    for dtype in (torch.float32, torch.bfloat16, torch.bool):
        assert digest_code(torch.ones(3, dtype=dtype)) == digest_code(torch.ones(4, dtype=dtype)[1:])
        assert digest_code(torch.ones(3, dtype=dtype)) != digest_code(torch.zeros(3, dtype=dtype))


def test_images_count_by_their_pixels(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4), "red").save(tmp_path / "a.png")
    Image.new("RGB", (4, 4), "blue").save(tmp_path / "b.png")
    red, again, blue = (Image.open(tmp_path / name) for name in ("a.png", "a.png", "b.png"))
    assert digest_code(red) == digest_code(again) != digest_code(blue)


def test_a_large_array_is_digested_without_a_copy(tmp_path: Path) -> None:
    import tracemalloc

    array = np.ones((4096, 4096), np.float32)  # 64 MiB
    digest_code(np.ones(3))
    tracemalloc.start()
    digest_code(array)
    assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    tracemalloc.stop()


def test_a_long_chain_of_references_is_followed_to_its_end() -> None:
    def chain(last: str) -> Any:
        value: list[Any] = [last]
        for _ in range(20_000):
            value = [value]
        return value

    assert digest_code(chain("a")) != digest_code(chain("b"))
    calls = "".join(f"def f{n}(): return f{n + 1}()\n" for n in range(2000))
    assert digest(f"{calls}def f2000(): return 1", "f0") != digest(f"{calls}def f2000(): return 2", "f0")


# what has no digest -------------------------------------------------------------------------------------------


def _of_generator() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (threading.Lock, "lock"),
        (threading.local, "local"),
        (socket.socket, "socket"),
        (Path(__file__).open, "TextIOWrapper"),
        (_of_generator, "generator"),
        (sys._getframe, "frame"),
        (lambda: memoryview(b"a"), "memoryview"),
    ],
)
def test_values_without_a_digest_are_named_with_their_place(make: Callable[[], Any], said: str) -> None:
    value = make()
    class_of = "class f:\n    def g(self): return resource"
    for cell, place in (
        ("def f(): return resource", "the global 'resource' of f"),
        (class_of, "the global 'resource' of f.g"),
        (
            "def make():\n    r = resource\n    return lambda: r\nf = make()",
            "the closure value 'r' of make.<lambda>",
        ),
        ("f = lambda x=resource: x", "a default of <lambda>"),
        ("class f: k = resource", "f.k"),
    ):
        with pytest.raises(UnhashableCode, match=rf"^{place}.*{said}"):
            digest(cell, resource=value)
    if hasattr(value, "close"):
        value.close()


def test_a_class_may_say_what_its_state_is() -> None:
    cell = """
import threading
class Client:
    def __init__(self, url): self.url, self.lock = url, threading.Lock()
    def __getstate__(self): return {"url": self.url}
client = Client(URL)
def f(): return client
"""
    assert digest(cell, URL="a") == digest(cell, URL="a") != digest(cell, URL="b")


# code of installed distributions ------------------------------------------------------------------------------


def test_installed_code_counts_by_name_and_version() -> None:
    numpy = "import numpy as np\ndef f(): return np.mean"
    assert digest(numpy) == digest(numpy) != digest(numpy.replace("mean", "max"))
    assert digest("from json import dumps as f") != digest("from json import loads as f")


def test_where_modules_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_origin("json") == find_origin("builtins") == "python"
    assert find_origin("t2i_core.testing") == "t2i-core"
    assert find_origin("numpy.linalg") == f"numpy {np.__version__}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "found_here.py").touch()
    assert find_origin("found_here") is find_origin("__main__") is find_origin(__name__) is None


@pytest.mark.parametrize("hook", ["path file", "import hook"])
def test_an_editable_distribution_counts_by_its_source(
    hook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"edited_{hook.replace(' ', '_')}"
    site, project = tmp_path / "site", tmp_path / "project"
    (project / package).mkdir(parents=True)
    (project / package / "__init__.py").write_text("k = 1")
    (project / "script_here.py").touch()
    info = site / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "direct_url.json").write_text(json.dumps({"url": project.as_uri(), "dir_info": {"editable": True}}))
    if hook == "path file":
        (info / "RECORD").write_text(f"_{package}.pth,,\n")
        (site / f"_{package}.pth").write_text(f"{project}\n")
    else:
        (info / "top_level.txt").write_text(f"{package}\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(project)
    found = find_origin(package)
    assert found is not None
    assert found.startswith(f"{package} ")
    assert found != f"{package} 1.0"
    assert find_origin("script_here") is None


def test_which_code_is_all_in_installed_files() -> None:
    class Here:
        pass

    for code in (TEST_MODEL.create, Options, Prompt, json.dumps, datetime.datetime, Path.cwd):
        assert is_installed(code)
    for code in (Here, lambda: 1, functools.partial(json.dumps, indent=1), functools.wraps(json.dumps)(lambda: 1)):
        assert not is_installed(code)
    assert not is_installed(types.SimpleNamespace())
    assert not is_installed(enum.Enum("Colour", "RED"))
    assert not is_installed(dataclasses.make_dataclass("Made", ["a"]))
