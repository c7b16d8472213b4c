"""Methods and data sets from outside the package, from files or from installed packages.

Files are named by `--plugin FILE` or the variable SMFH_PLUGINS; installed packages declare entry points in
the groups `smfh.methods` and `smfh.datasets`. A plug-in has all rights of this program, so plug-ins come from
the command line and the environment only, never from an upload. A broken plug-in is reported and skipped.
"""

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib.metadata import entry_points
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from smfh.datasets import DATASETS, DatasetSource
from smfh.hashing import METHODS, HashMethod
from smfh.types import InputError, choices, parameters

VARIABLE = "SMFH_PLUGINS"  # paths of files, separated as in PATH
GROUPS = ("smfh.methods", "smfh.datasets")
NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
KINDS: Mapping[type[Any], tuple[str, dict[str, Any]]] = {
    HashMethod: ("method", METHODS),
    DatasetSource: ("data set", DATASETS),
}


@dataclass(frozen=True)
class Plugin:
    """A plug-in: the methods and data sets that it added, or the reason why it was skipped."""

    origin: str  # a file's name, or an entry point
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    problem: str = ""


_loaded: dict[str, Plugin] = {}  # by path or entry point


def load_plugins() -> tuple[Plugin, ...]:
    """Load and register all plug-ins that are not loaded yet; return all of them."""
    for path in plugin_files():
        if str(path) not in _loaded:
            try:
                _loaded[str(path)] = load_text(path.name, path.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                _loaded[str(path)] = Plugin(path.name, problem=f"it cannot be read: {error}")
    for entry in (entry for group in GROUPS for entry in entry_points(group=group)):
        origin = f"{entry.group}: {entry.name}"
        if origin not in _loaded:
            try:
                _loaded[origin] = _register(origin, [entry.load()])
            except (Exception, SystemExit) as error:  # a foreign package can raise anything
                _loaded[origin] = Plugin(origin, problem=describe_error(error))
    return tuple(_loaded.values())


def plugin_files() -> list[Path]:
    """Return the paths of the files that SMFH_PLUGINS names."""
    return [Path(path) for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]


def load_text(name: str, text: str) -> Plugin:
    """Run the source text of a plug-in file and register the methods and data sets that it defines.

    The module is named after the hash of the text, so that every process that loaded the same text can
    unpickle its objects.
    """
    module = ModuleType(f"smfh_plugin_{hashlib.sha256(text.encode()).hexdigest()[:16]}", name)
    if module.__name__ in sys.modules:
        return sys.modules[module.__name__].__plugin__  # type: ignore[no-any-return]
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102, the user chose this file
        classes = [value for value in vars(module).values() if isinstance(value, type)]
        plugin = _register(name, [cls for cls in classes if cls.__module__ == module.__name__])  # not imported ones
    except (Exception, SystemExit) as error:  # a plug-in can raise anything
        plugin = Plugin(name, problem=describe_error(error))
    module.__dict__["__plugin__"] = plugin
    return plugin


def _register(origin: str, classes: list[Any]) -> Plugin:
    """Register a plug-in's classes in METHODS and DATASETS, all of them or none."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind, _ in KINDS.values()}
    for cls in classes:
        for base, (kind, known) in KINDS.items():
            if isinstance(cls, type) and issubclass(cls, base):
                if problems := list(class_problems(cls, kind, known)):
                    return Plugin(origin, problem=" ".join(problems))
                found[kind][cls.name] = cls  # type: ignore[attr-defined]
    if not any(found.values()):
        return Plugin(origin, problem="it defines no method (HashMethod) and no data set (DatasetSource)")
    for kind, known in KINDS.values():
        known.update(found[kind])
    return Plugin(origin, tuple(found["method"]), tuple(found["data set"]))


def class_problems(cls: type[Any], kind: str, known: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each problem that keeps a plug-in's class from being registered."""
    name = getattr(cls, "name", None)
    if inspect.isabstract(cls):
        yield f"{cls.__name__} lacks {', '.join(sorted(cls.__abstractmethods__))}."
    if "__dataclass_params__" not in vars(cls) or not cls.__dataclass_params__.frozen:
        yield f"{cls.__name__} must be a frozen dataclass: write @dataclass(frozen=True) above it."
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        yield f"{cls.__name__} needs a name of lower-case letters, digits and -; got {name!r}."
    elif name in known:
        yield f"There is already a {kind} named {name}; choose another name."
    title = "title" if kind == "method" else "card"
    if not hasattr(cls, title):
        yield f"{cls.__name__} needs a {title}."
    if inspect.isabstract(cls):
        return
    try:
        described = parameters(cls()) | choices(cls())
    except (Exception, SystemExit) as error:
        yield f"{cls.__name__}() fails; give every field a valid default. {describe_error(error)}"
    else:
        if rest := [field.name for field in fields(cls) if field.name not in described]:
            yield f"{cls.__name__}: define {', '.join(rest)} with smfh.types.parameter()."


@contextmanager
def plugin_errors(method: HashMethod) -> Iterator[None]:
    """Turn any error that the code of a plug-in's method raises into an `InputError` that names the line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        home = type(method).__module__
        if home.partition(".")[0] == "smfh" or isinstance(error, InputError | MemoryError):
            raise
        lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_globals.get("__name__") == home]
        where = f" in line {lines[-1]} of its plug-in" if lines else ""
        raise InputError(f"{method.title} failed{where}: {describe_error(error)}.") from error


def describe_error(error: BaseException) -> str:
    """Return the type and the message of an error, or only the message of an `InputError`."""
    if isinstance(error, InputError):
        return str(error)
    return f"{type(error).__name__}: {error}"
