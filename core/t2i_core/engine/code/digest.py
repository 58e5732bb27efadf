"""Digests of code that is in no installed distribution: notebook cells, scripts, files on the path.

The digest covers what the code does and what it refers to, and is the same in every process that runs the same
version of Python. Pickled bytes would not be: they differ between processes, and hold functions by name alone.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import inspect
import struct
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import resolve_name
from pathlib import Path, PurePath
from typing import Any

from ...files.digest import digest_file
from .bytecode import list_imported_names, list_loaded_names
from .class_body import find_body
from .distributions import find_origin
from .library_values import take_apart

MOST_VALUES = 5_000_000
"""Values that one digest may visit, so that a runaway object is reported instead of filling the memory."""


class UnhashableCode(ValueError):
    """A value that code depends on has no digest: an open file, a lock, a generator, an object of a C library."""


def digest_code(code: object) -> str:
    """Return the SHA-256 (hex) of code and of everything that it depends on.

    Functions count with their bytecode, constants, defaults, closure values and the globals that they load;
    classes with their bodies and bases; instances with their class and state; plain data, arrays, tensors and
    images with their values. Code of installed distributions counts with its name and version, and with its source
    where it is installed in editable form. File names, line numbers and comments do not count.

    Args:
        code: A function, class, instance or plain value.

    Raises:
        UnhashableCode: If a value has no digest. The message says which and where it was found.
    """
    digest = _Digest()
    digest.write("python", sys.implementation.cache_tag or "")
    try:
        digest.add(code, str(getattr(code, "__qualname__", "it")).replace("<locals>.", ""))
        return digest.finish()
    except RecursionError as error:
        raise UnhashableCode("tuples or sets that are nested too deep") from error


def is_installed(code: object) -> bool:
    """Return whether code is a function, class or class method of an installed distribution and nothing more.

    A closure, a partial or an instance holds values that its source does not show.
    """
    if isinstance(code, types.MethodType) and isinstance(code.__self__, type):
        return is_installed(code.__self__)
    if isinstance(code, types.FunctionType):
        made_inside = "<locals>" in code.__qualname__
        holds_values = code.__closure__ or (made_inside and (code.__defaults__ or code.__kwdefaults__))
        return not holds_values and find_origin(_module_of(code)) is not None
    if not isinstance(code, type) or not _is_named(code, _module_of(code), code.__qualname__):
        return False
    return find_origin(_module_of(code)) is not None


def _module_of(code: Any) -> str:
    """Return the name of the module that defines a function or class.

    `functools.wraps` copies the wrapped function's `__module__`; the globals are always the function's own.
    """
    if isinstance(code, types.FunctionType):
        return str(code.__globals__.get("__name__") or "")
    return str(getattr(code, "__module__", None) or "")


def _digest_compiled(module: str) -> str:
    """Return the digest of a module's file if it is compiled; empty for any other module."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return digest_file(Path(file)) if file.endswith(tuple(EXTENSION_SUFFIXES)) else ""


def _is_named(value: Any, module: str, qualname: str) -> bool:
    """Return whether a module has this value under this name."""
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = inspect.getattr_static(found, name, None)
    return found is value


_ATOMS: Mapping[type, Callable[[Any], bytes]] = {
    type(None): lambda value: b"",
    type(...): lambda value: b"",
    type(NotImplemented): lambda value: b"",
    bool: lambda value: b"1" if value else b"0",
    int: lambda value: b"%x" % value,
    float: lambda value: b"nan" if value != value else struct.pack(">d", value),
    complex: lambda value: repr(value).encode(),
    str: lambda value: value.encode("utf-8", "surrogatepass"),
    bytes: lambda value: value,
    bytearray: bytes,
    range: lambda value: repr(value).encode(),
}

_DESCRIPTORS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
"""Attributes that are implemented in C, or belong to `__slots__`: their class and name identify them."""


class _Digest:
    """One traversal, breadth first, so that a long chain of references does not exhaust Python's stack.

    Containers, functions, classes and instances are numbered when first met and written later; a second reference
    writes the number alone, so that cycles end.
    """

    def __init__(self, outer: _Digest | None = None) -> None:
        self._sha = hashlib.sha256()
        self._queue: deque[tuple[Any, str]] = deque()
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # an id is only valid while its object lives
        self._outer = outer
        self._left: list[int] = outer._left if outer else [MOST_VALUES]
        self._origins: dict[str, str | None] = outer._origins if outer else {}

    def finish(self) -> str:
        """Write what is queued and return the digest."""
        while self._queue:
            value, where = self._queue.popleft()
            self._write_value(value, where)
        return self._sha.hexdigest()

    def write(self, tag: str, *parts: Any) -> None:
        """Write a tag and texts or buffers, each with its length, so that different sequences never look alike."""
        encoded = [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in parts]
        self._sha.update(f"{tag}({','.join(str(len(part)) for part in encoded)})".encode())
        for part in encoded:
            self._sha.update(part)

    def add(self, value: Any, where: str) -> None:
        """Write a plain value, or a reference to any other value."""
        self._left[0] -= 1
        if self._left[0] < 0:
            raise UnhashableCode(f"{where}: more than {MOST_VALUES:,} values")
        kind = type(value)
        if kind in _ATOMS:
            self.write(kind.__name__, _ATOMS[kind](value))
        elif kind is tuple:
            self.write("tuple", str(len(value)))
            for item in value:
                self.add(item, where)
        elif kind in (set, frozenset):
            self.write(kind.__name__, *sorted(self._digest_alone(item, where) for item in value))
        else:
            self._refer(value, where)

    def _digest_alone(self, value: Any, where: str) -> str:
        """Return the digest of an element of a set, which does not depend on the other elements."""
        inner = _Digest(self)
        inner.add(value, where)
        return inner.finish()

    def _refer(self, value: Any, where: str) -> None:
        depth, digest = 0, self._outer
        while digest is not None:
            depth += 1
            if id(value) in digest._numbers:
                return self.write("outer", str(depth), str(digest._numbers[id(value)]))
            digest = digest._outer
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._numbers)
            self._alive.append(value)
            self._queue.append((value, where))
        return self.write("ref", str(self._numbers[id(value)]))

    def _find_origin(self, module: str) -> str | None:
        if module not in self._origins:
            self._origins[module] = find_origin(module)
        return self._origins[module]

    def _write_value(self, value: Any, where: str) -> None:
        """Write one numbered value."""
        for kinds, write in _WRITERS:
            if isinstance(value, kinds):
                return write(self, value, where)
        return self._write_object(value, where)

    def _write_object(self, value: Any, where: str) -> None:
        """Write a value of a library, or any other instance."""
        try:
            parts = take_apart(value)
        except (RuntimeError, NotImplementedError, OSError, ValueError) as error:
            raise UnhashableCode(f"{where} ({_type_name(value)}: {error})") from error
        if parts is None:
            return self._write_instance(value, where)
        described, content = parts
        self.write("library")
        self.add(described, where)
        if content is not None:
            self.write("content", content)
        return None

    # containers -----------------------------------------------------------------------------------------------

    def _write_list(self, value: list[Any], where: str) -> None:
        if type(value) is not list:
            return self._write_object(value, where)
        self.write("list", str(len(value)))
        for item in value:
            self.add(item, where)
        return None

    def _write_dict(self, value: Mapping[Any, Any], where: str) -> None:
        """Write a mapping in its own order, which code that iterates over it depends on."""
        if type(value) not in (dict, types.MappingProxyType):
            return self._write_object(value, where)
        self.write("dict", str(len(value)))
        for key, item in list(value.items()):
            self.add(key, where)
            self.add(item, f"{where}[{key!r}]" if isinstance(key, str) else where)
        return None

    def _write_names(self, tag: str, names: Mapping[str, Any], where: str) -> None:
        """Write a namespace, whose order does not matter."""
        self.write(tag, str(len(names)))
        for name in sorted(names):
            self.write("name", name)
            self.add(names[name], f"{where}.{name}")

    # code -----------------------------------------------------------------------------------------------------

    def _write_function(self, function: types.FunctionType, where: str) -> None:
        module = _module_of(function)
        origin = self._find_origin(module)
        if origin is not None and _is_named(function, module, function.__qualname__):
            return self.write("installed", origin, module, function.__qualname__)
        name = function.__qualname__.replace("<locals>.", "")
        self.write("function")
        self._add_code(function.__code__, name)
        self.add(function.__defaults__, f"a default of {name}")
        self._write_names("keyword defaults", function.__kwdefaults__ or {}, f"a default of {name}")
        self._write_names("attributes", function.__dict__, name)
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.add(cell, f"the closure value {variable!r} of {name}")
        if origin is not None:  # its source is known, its closure values are not
            return self.write("made by", origin, module)
        for loaded in sorted(set(list_loaded_names(function.__code__))):
            self._add_global(function.__globals__, loaded, name)
        for imported in sorted(set(list_imported_names(function.__code__))):
            self._add_import(function.__globals__, *imported, name)
        return None

    def _add_code(self, code: types.CodeType, name: str) -> None:
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.write("code", code.co_name, code.co_code, code.co_exceptiontable)
        self.add((counts, names), name)
        self._add_constants(code.co_consts, name)

    def _add_constants(self, constants: Iterable[Any], name: str) -> None:
        for constant in constants:
            if isinstance(constant, types.CodeType):
                self._add_code(constant, name)
            else:
                self.add(constant, f"a constant of {name}")
        self.write("end of constants")

    def _add_global(self, names: Mapping[str, Any], loaded: tuple[str, ...], function: str) -> None:
        """Write a global that a function loads; of modules not installed, only the attributes it takes."""
        first, *attributes = loaded
        builtins = vars(import_module("builtins"))
        if first not in names:
            return self.write("builtin" if first in builtins else "absent", first)
        value = names[first]
        used = [first]
        while attributes and isinstance(value, types.ModuleType) and self._find_origin(value.__name__) is None:
            used.append(attributes.pop(0))
            if used[-1] not in vars(value):
                return self.write("absent", *used)
            value = vars(value)[used[-1]]
        self.write("global", *used)
        return self.add(value, f"the global {'.'.join(used)!r} of {function}")

    def _add_import(
        self, names: Mapping[str, Any], level: int, module: str, members: tuple[str, ...], function: str
    ) -> None:
        """Write the modules that a function imports when it is called."""
        where = f"the import of {module!r} in {function}"
        try:
            full = resolve_name("." * level + module, names.get("__package__") or "") if level else module
            origin = self._find_origin(full)
            self.write("import", origin or "", full, *members)
            if origin is not None:
                return None
            imported = __import__(full, fromlist=members)  # imports members that are modules too
        except ModuleNotFoundError:
            return self.write("absent")
        except Exception as error:
            raise UnhashableCode(f"{where} ({type(error).__name__}: {error})") from error
        if not members or "*" in members:  # without members this is the outermost package
            return self.add(imported, where)
        for member in members:
            self.add(getattr(imported, member, None), f"{where} ({member})")
        return None

    def _write_class(self, cls: type, where: str) -> None:
        module = _module_of(cls)
        origin = self._find_origin(module)
        if origin is not None and (module == "builtins" or _is_named(cls, module, cls.__qualname__)):
            return self.write("installed", origin, module, cls.__qualname__)
        name = cls.__qualname__.replace("<locals>.", "")
        self.write("class", name, _digest_compiled(module))
        self.add((*cls.__bases__, type(cls)), f"a base of {name}")
        self._write_names("body", dict(find_body(cls)), name)
        return None

    def _write_module(self, module: types.ModuleType, where: str) -> None:
        origin = self._find_origin(module.__name__)
        if origin is not None:
            return self.write("installed", origin, module.__name__)
        if compiled := _digest_compiled(module.__name__):
            return self.write("compiled", compiled)
        own = {name: value for name, value in vars(module).items() if not name.startswith("__")}
        return self._write_names("module", own, f"module {module.__name__}")

    def _write_bound(self, value: types.MethodType | types.BuiltinFunctionType, where: str) -> None:
        """Write a bound method, or a function that is implemented in C.

        Modules offer methods of a hidden instance as functions (`random.randint`): these count with their name.
        """
        module, owner = _module_of(value), value.__self__
        origin = self._find_origin(module)
        if origin is not None and _is_named(value, module, value.__name__):
            return self.write("installed", origin, module, value.__name__)
        self.write("bound", value.__qualname__)
        self.add((owner, getattr(value, "__func__", None)), where)
        return None

    # instances ------------------------------------------------------------------------------------------------

    def _write_instance(self, value: Any, where: str) -> None:
        """Write the class, and the state that `copy` and `pickle` would take."""
        cls = type(value)
        if cls.__module__ == "itertools":  # some versions of Python can reduce them and others cannot
            raise UnhashableCode(f"{where} ({_type_name(value)})")
        try:
            reduce = copyreg.dispatch_table.get(cls)
            reduced: Any = reduce(value) if reduce else value.__reduce_ex__(4)
        except Exception as error:
            raise UnhashableCode(f"{where} ({_type_name(value)})") from error
        self.write("instance")
        self.add(cls, where)
        if isinstance(reduced, str):
            module = _module_of(value)
            return self.write("named", module, reduced, _digest_compiled(module))
        make, arguments, state, items, pairs = (*tuple(reduced), None, None, None)[:5]
        self.add((make, arguments), where)
        if isinstance(state, dict) and all(isinstance(name, str) for name in state):
            kept = {name: part for name, part in state.items() if not _is_cached(cls, name)}
            self._write_names("state", kept, where)
        else:
            self.add(state, where)
        self.add(None if items is None else tuple(items), where)
        self.add(None if pairs is None else tuple(pairs), where)
        return None


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _is_cached(cls: type, name: str) -> bool:
    """Return whether an attribute is a cached property's value, which follows from the rest of the state."""
    return isinstance(inspect.getattr_static(cls, name, None), functools.cached_property)


def _parts(tag: str, *names: str) -> Callable[[_Digest, Any, str], None]:
    """Return what writes a wrapper by its parts."""

    def write(digest: _Digest, value: Any, where: str) -> None:
        digest.write(tag)
        for name in names:
            digest.add(getattr(value, name), where)

    return write


def _write_cell(digest: _Digest, cell: types.CellType, where: str) -> None:
    try:
        content = cell.cell_contents
    except ValueError:
        return digest.write("empty cell")
    digest.write("cell")
    return digest.add(content, where)


def _write_cached(digest: _Digest, cached: Any, where: str) -> None:
    """Write the function behind `functools.cache`, not its cached values."""
    digest.write("cached")
    digest.add((cached.__wrapped__, cached.cache_parameters()), where)


_WRITERS: tuple[tuple[Any, Callable[[_Digest, Any, str], None]], ...] = (
    (types.FunctionType, _Digest._write_function),
    (type, _Digest._write_class),
    (list, _Digest._write_list),
    ((dict, types.MappingProxyType), _Digest._write_dict),
    (types.ModuleType, _Digest._write_module),
    ((types.MethodType, types.BuiltinFunctionType), _Digest._write_bound),
    (types.MethodWrapperType, _parts("method", "__name__", "__self__")),
    (_DESCRIPTORS, _parts("descriptor", "__objclass__", "__name__")),
    (property, _parts("property", "fget", "fset", "fdel")),
    ((staticmethod, classmethod), lambda digest, value, where: digest.add((type(value), value.__func__), where)),
    (functools.cached_property, _parts("cached property", "func", "attrname")),
    (functools._lru_cache_wrapper, _write_cached),
    (types.CellType, _write_cell),
    (types.CodeType, lambda digest, code, where: digest._add_code(code, where)),
    (weakref.ref, lambda digest, value, where: digest.add((weakref.ref, value()), where)),
    (PurePath, lambda digest, path, where: digest.add((type(path), str(path)), where)),
)
