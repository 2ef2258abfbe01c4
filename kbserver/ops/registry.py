"""The registry of operations: each is one function with typed arguments and one frozen result, served on every surface.

To add an operation: write a function in `kbserver/ops/`, annotate each argument with `Arg`, return a `Result`, decorate
it with `@operation`, name its command and module in `HOMES`, and give its result a renderer in `kbserver/render/`.
"""

from __future__ import annotations

import importlib
import inspect
import json
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from kbserver.core.errors import UsageError
from kbserver.core.model import Result

MAX_DESCRIPTION = 600
TOOLSETS = ("knowledge", "hardware", "compile", "run", "journal")
# Where each operation lives: name -> (command, module of kbserver.ops), so that one command imports one operation. A
# model reads the list from the top, and `kb --help` prints it: the way in comes first.
HOMES: dict[str, tuple[str, str]] = {
    "knowledge_map": ("map", "knowledge"),
    "search": ("search", "knowledge"),
    "read": ("read", "knowledge"),
    "hardware_fact": ("fact", "facts"),
    "instruction": ("isa", "isa"),
    "device_info": ("device", "device"),
    "occupancy": ("occupancy", "waves"),
    "compile_kernel": ("compile", "compile"),
    "inspect_assembly": ("asm", "assembly"),
    "verify_kernel": ("verify", "verify"),
    "profile_kernel": ("profile", "profile"),
    "time_kernel": ("time", "time"),
    "check_claims": ("check", "claims"),
    "record_lesson": ("lesson", "lessons"),
}


@dataclass(frozen=True)
class Arg:
    """What an argument means to a user; `positional` and `flags` shape the command line only."""

    help: str
    positional: bool = False
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    words: bool = False
    """On the command line, a positional of several words needs no quotes."""
    file_argument: str | None = None
    """On the command line, a value that looks like a file goes to this argument instead."""
    stdin_argument: str | None = None
    """On the command line, `-` reads standard input into this argument instead."""


@dataclass(frozen=True)
class Parameter:
    """One argument of an operation as the surfaces see it."""

    name: str
    type: Any
    default: Any
    arg: Arg

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Operation:
    """One operation: the MCP tool `name` and the command `kb <command>`."""

    name: str
    command: str
    title: str
    description: str
    run: Callable[..., Result]
    parameters: tuple[Parameter, ...]
    result: type[Result]
    toolset: str
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    says_no: Callable[[Any], bool]
    """True when the result is a "no" (exit status 1)."""
    cannot_tell: Callable[[Any], bool]
    """True when the result says that it cannot be told here (exit status 3)."""

    @property
    def area(self) -> str:
        """The module of the operation in `kbserver.ops`, and of its renderer in `kbserver.render`."""
        return HOMES[self.name][1]

    def call(self, arguments: dict[str, Any]) -> Result:
        """Validate `arguments` against the signature and run. Raises UsageError naming the argument."""
        known = {p.name: p for p in self.parameters}
        for name in arguments:
            if name not in known:
                raise UsageError(
                    f"{self.name} has no argument {name!r}", hint=f"arguments: {', '.join(known) or 'none'}"
                )
        checked = {}
        for parameter in self.parameters:
            if parameter.name not in arguments:
                if parameter.required:
                    raise UsageError(f"{self.name} needs {parameter.name}", hint=parameter.arg.help)
                continue
            checked[parameter.name] = _validate(parameter, arguments[parameter.name])
        return self.run(**checked)


_OPERATIONS: dict[str, Operation] = {}


def operation(
    *,
    name: str,
    command: str,
    title: str,
    toolset: str,
    read_only: bool = True,
    destructive: bool = False,
    idempotent: bool = True,
    open_world: bool = False,
    says_no: Callable[[Any], bool] = lambda result: False,
    cannot_tell: Callable[[Any], bool] = lambda result: False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as an operation; its docstring's first paragraph is what a model reads to choose it."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        description = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
        if not description or len(description) > MAX_DESCRIPTION:
            raise TypeError(f"{name}: the first paragraph must have 1 to {MAX_DESCRIPTION} characters")
        if toolset not in TOOLSETS:
            raise TypeError(f"{name}: toolset must be one of {', '.join(TOOLSETS)}")
        if name in _OPERATIONS:
            raise TypeError(f"operation {name} is registered twice")
        if HOMES.get(name) != (command, function.__module__.rpartition(".")[2]):
            raise TypeError(f"operation {name}: HOMES must name its command and module")
        hints = get_type_hints(function, include_extras=True)
        result = hints.pop("return", None)
        if not (isinstance(result, type) and issubclass(result, Result)):
            raise TypeError(f"{name}: the return annotation must be a Result")
        _OPERATIONS[name] = Operation(
            name=name,
            command=command,
            title=title,
            description=description,
            run=function,
            parameters=tuple(_parameters(name, function, hints)),
            result=result,
            toolset=toolset,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            open_world=open_world,
            says_no=says_no,
            cannot_tell=cannot_tell,
        )
        return function

    return register


def operations() -> dict[str, Operation]:
    """Return every operation by name, in the order in which a user meets them: ask, look, compile, run, record."""
    return {name: find_operation(name) for name in HOMES}


def find_operation(name: str) -> Operation:
    """Return one operation; only its module is imported."""
    if name not in _OPERATIONS:
        importlib.import_module(f"kbserver.ops.{HOMES[name][1]}")
    return _OPERATIONS[name]


def operation_of(command: str) -> Operation | None:
    """Return the operation behind `kb <command>`, None when there is no such command."""
    return next((find_operation(name) for name, (known, _) in HOMES.items() if known == command), None)


def _parameters(name: str, function: Callable[..., Any], hints: dict[str, Any]) -> typing.Iterator[Parameter]:
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{name}: argument {parameter.name} needs Annotated[type, Arg(...)]")
        kind, *extras = get_args(hint)
        arg = next((extra for extra in extras if isinstance(extra, Arg)), None)
        if arg is None:
            raise TypeError(f"{name}: argument {parameter.name} needs an Arg")
        yield Parameter(parameter.name, kind, parameter.default, arg)


def _validate(parameter: Parameter, value: Any) -> Any:
    if isinstance(value, str) and ("\x00" in value or _has_surrogate(value)):
        raise UsageError("text must be valid UTF-8 without NUL", where=parameter.name)
    if isinstance(value, str) and _holds_collection(parameter.type):
        value = _json_collection(value)
    try:
        checked = TypeAdapter(parameter.type).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{parameter.name}: {first['msg']}", hint=parameter.arg.help) from None
    if parameter.arg.choices and checked is not None and checked not in parameter.arg.choices:
        raise UsageError(
            f"{parameter.name}: {str(checked)[:60]!r} is not one of the choices",
            hint=f"one of: {', '.join(parameter.arg.choices)}",
        )
    return checked.model_dump() if isinstance(checked, BaseModel) else checked


def _holds_collection(kind: Any) -> bool:
    parts = [kind, *get_args(kind)]
    return any((get_origin(part) or part) in (list, tuple, dict) for part in parts)


def _json_collection(value: str) -> Any:
    """Models often send `"[...]"` where a list is meant; anything that is no JSON list or object stays as it is."""
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, list | dict) else value


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= ch <= "\udfff" for ch in text)
