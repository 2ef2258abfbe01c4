"""One function of the module while it is instrumented: masks of its values, what its pointers point into."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from kbserver.emulator.checks import runtime
from kbserver.emulator.checks.ir_text import Cursor, Typed, bits_type, pair, split
from kbserver.emulator.checks.runtime import EXEC
from kbserver.emulator.checks.shadow import ZERO, Mask, Masks

# What the runtime functions call their pointers; one by any other name may point anywhere.
HOST_PARAMETERS = frozenset({"%ctx", "%launch", "%context"})
_WATCHED_PARAMETERS = {
    "%lds": "lds",
    **dict.fromkeys(("%v", "%s", "%data", "%addresses", "%second", "%result", "%scratch"), "registers"),
    **dict.fromkeys(("%offsets", "%indices", "%rooms"), "registers"),
}
_NAME = re.compile(r"%[\w.]+")
SITE_MARK, EXEC_MARK, BARRIER_MARK = "; @site ", "; @exec ", "; @barrier"


@dataclass(frozen=True)
class Pointer:
    """What a pointer points into. host: the emulator's own tables, never watched. registers: a register file or
    private memory. lds. far: known only when the code runs. `masks` points at the masks, for registers and lds."""

    kind: str
    masks: str | None = None


HOST, FAR = Pointer("host"), Pointer("far")


@dataclass
class Function:
    """One function of the module while it is instrumented."""

    name: str
    result: str
    parameters: list[Typed]
    functions: dict[str, tuple[str, list[Typed]]]
    """name -> (result type, parameters) of the functions of this module."""
    out: list[str] = field(default_factory=list)
    masks: dict[str, Mask] = field(default_factory=dict)
    pointers: dict[str, Pointer] = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)
    """Names whose masks a phi refers to before they are known."""
    site: int | None = None
    site_told: bool = False

    @property
    def is_kernel(self) -> bool:
        return self.name == "kernel"

    def __post_init__(self) -> None:
        self.m = Masks(self.out.append)

    def emit(self, text: str) -> None:
        self.out.append(f"  {text}")

    # Masks and pointers of operands

    def mask(self, operand: Typed) -> Mask:
        if not operand.is_name:
            return None
        if operand.text in self.masks:
            return self.masks[operand.text]
        return f"{operand.text}.m" if operand.text in self.needed else None

    def pointer(self, text: str) -> Pointer:
        return self.pointers.get(text, HOST if not text.startswith("%") else FAR)

    def define(self, name: str | None, type_: str, mask: Mask) -> None:
        """Set a value's mask; a name that a phi waits for gets a value of its own."""
        if name is None or bits_type(type_) is None:
            return
        if name in self.needed:
            self.emit(f"{name}.m = bitcast {bits_type(type_)} {mask or ZERO} to {bits_type(type_)}")
            mask = f"{name}.m"
        self.masks[name] = mask

    def check(self, type_: str, mask: Mask, kind: int) -> None:
        """Report when any bit of the value is undefined."""
        if mask is None:
            return
        its = bits_type(type_)
        if its is not None:
            flag = self.m.any_lane(its, mask)
            self.tell_site()
            self.emit(f"call void @check_use(i1 {flag}, i64 {kind})")

    def tell_site(self) -> None:
        """Store the number of the instruction before anything may be reported about it."""
        if self.is_kernel and self.site is not None and not self.site_told:
            place = runtime.SLOTS["site"]
            self.emit(f"store i64 {self.site}, ptr getelementptr (i64, ptr @{runtime.STATE}, i64 {place}), align 8")
            self.site_told = True

    # The function

    def header(self) -> str:
        if self.is_kernel:
            kept = ", ".join(one.all for one in self.parameters)
            return f"define {self.result} @{self.name}({kept}) {{"
        parts = []
        for one in self.parameters:
            parts.append(one.all)
            its = bits_type(one.type)
            if its is not None:
                parts.append(f"{its} {one.text}.m")
                self.masks[one.text] = f"{one.text}.m"
            elif one.text in _WATCHED_PARAMETERS:
                parts.append(f"ptr {one.text}.p")
        return f"define internal {pair(self.result)} @{self.name}({', '.join(parts)}) {{"

    def run(self, lines: list[str]) -> list[str]:
        """Return the instrumented lines."""
        for one in self.parameters:
            if one.type == "ptr":
                kind = _WATCHED_PARAMETERS.get(one.text)
                other = HOST if one.text in HOST_PARAMETERS else FAR
                self.pointers[one.text] = Pointer(kind, f"{one.text}.p") if kind else other
        for line in lines:
            if " = phi " in line:
                self.needed.update(_NAME.findall(line.split(" = phi ", 1)[1]))
        head = self.header()
        waiting = [one.text for one in self.parameters] if self.is_kernel else []
        for line in lines:
            text = line.strip()
            if not text or text.startswith(";"):
                self._comment(text)
                continue
            if text.endswith(":"):
                self.out.append(text)
                self.m.forget()
                continue
            if waiting:
                self._companions(waiting)
                waiting = []
            self.instruction(text)
        return [head, *self.out, "}"]

    def _companions(self, names: list[str]) -> None:
        for name in names:
            if name in self.pointers and self.pointers[name].masks:
                self.emit(f"{name}.p = call ptr @shadow_at(ptr {name})")

    def _comment(self, text: str) -> None:
        if text.startswith(SITE_MARK):
            self.site, self.site_told = int(text.removeprefix(SITE_MARK)), False
        elif text.startswith(EXEC_MARK):
            name = text.removeprefix(EXEC_MARK)
            self.check("i64", self.mask(Typed("i64", name)), EXEC)
            self.masks[name] = None
        elif text.startswith(BARRIER_MARK):
            self.tell_site()
            self.emit(f"call void @check_row(i64 {runtime.BARRIER}, i64 0, i64 0, i64 0)")

    def instruction(self, text: str) -> None:
        """Emit one instruction and what computes its mask."""
        name, operation, cursor = split(text)
        handler = handlers().get(operation)
        if handler is None:
            # Unknown to this pass: what it gives counts as defined.
            self.emit(text)
        else:
            handler(self, name, text, cursor)


def takes_masks(parameter: Typed) -> bool:
    """Return whether a pointer parameter comes with one to its masks."""
    return parameter.text in _WATCHED_PARAMETERS


@lru_cache(maxsize=1)
def handlers() -> dict[str, Callable[[Function, str, str, Cursor], None]]:
    """Return what instruments each LLVM operation: (function, result's name, text, cursor behind the operation)."""
    from kbserver.emulator.checks import on_control, on_memory, on_values

    return {**on_memory.HANDLERS, **on_values.HANDLERS, **on_control.HANDLERS}
