"""Branches, calls and returns in instrumented code: masks travel with arguments and results."""

from __future__ import annotations

from kbserver.emulator.checks.function import FAR, HOST, Function, takes_masks
from kbserver.emulator.checks.ir_text import Cursor, Typed, arguments, bits_type, pair
from kbserver.emulator.checks.runtime import ADDRESS, BRANCH
from kbserver.emulator.checks.shadow import ZERO


def _br(f: Function, name: str | None, text: str, cursor: Cursor) -> None:
    del name
    if cursor.accept("i1"):
        f.check("i1", f.mask(Typed("i1", cursor.value())), BRANCH if f.is_kernel else ADDRESS)
    f.emit(text)


def _switch(f: Function, name: str | None, text: str, cursor: Cursor) -> None:
    del name
    value = cursor.typed()
    f.check(value.type, f.mask(value), BRANCH if f.is_kernel else ADDRESS)
    f.emit(text)


def _ret(f: Function, name: str | None, text: str, cursor: Cursor) -> None:
    del name
    if f.is_kernel or bits_type(f.result) is None:
        f.emit(text)
        return
    value = cursor.typed()
    both_types, masks = pair(f.result), bits_type(f.result)
    first = f.m.new(f"insertvalue {both_types} poison, {value.all}, 0")
    both = f.m.new(f"insertvalue {both_types} {first}, {masks} {f.mask(value) or ZERO}, 1")
    f.emit(f"ret {both_types} {both}")


def _call(f: Function, name: str | None, text: str, cursor: Cursor) -> None:
    result = cursor.word()
    callee = cursor.word().removeprefix("@")
    given = arguments(cursor.word()[1:-1])
    if callee in f.functions:
        _internal(f, name, result, callee, given)
        return
    f.emit(text)
    if callee.startswith("llvm.memset"):
        _fill(f, given)
    elif callee.startswith("llvm.memcpy"):
        _copy(f, given)
    elif name is not None:
        operands = [(one, f.mask(one)) for one in given if bits_type(one.type) is not None]
        f.define(name, result, f.m.intrinsic(callee, result, operands))
        if result == "ptr":
            f.pointers[name] = FAR


def _internal(f: Function, name: str | None, result: str, callee: str, given: list[Typed]) -> None:
    """Call a function of the module, with masks."""
    f.tell_site()
    parts = []
    for one, parameter in zip(given, f.functions[callee][1], strict=True):
        parts.append(one.all)
        its = bits_type(one.type)
        if its is not None:
            parts.append(f"{its} {f.mask(one) or ZERO}")
        elif takes_masks(parameter):
            pointer = f.pointer(one.text)
            parts.append(f"ptr {pointer.masks or f.m.new(f'call ptr @shadow_to(ptr {one.text})')}")
    call = f"call {pair(result)} @{callee}({', '.join(parts)})"
    if name is None:
        f.emit(call)
    elif bits_type(result) is None:
        f.emit(f"{name} = {call}")
        f.pointers[name] = HOST
    else:
        both = f.m.new(call)
        f.emit(f"{name} = extractvalue {pair(result)} {both}, 0")
        f.define(name, result, f.m.new(f"extractvalue {pair(result)} {both}, 1"))


def _fill(f: Function, given: list[Typed]) -> None:
    to = f.pointer(given[0].text)
    if to.kind != "host":
        masks = to.masks or f.m.new(f"call ptr @shadow_to(ptr {given[0].text})")
        f.emit(f"call void @llvm.memset.p0.i64(ptr {masks}, i8 0, {given[2].all}, i1 false)")


def _copy(f: Function, given: list[Typed]) -> None:
    to, from_, size = f.pointer(given[0].text), f.pointer(given[1].text), given[2]
    if to.kind != "host":
        a = to.masks or f.m.new(f"call ptr @shadow_to(ptr {given[0].text})")
        b = from_.masks or f.m.new(f"call ptr @shadow_at(ptr {given[1].text})")
        f.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr {a}, ptr {b}, {size.all}, i1 false)")
    if from_.kind in ("lds", "far"):
        f.emit(f"call void @check_access(ptr {given[1].text}, {size.all}, i64 0)")


HANDLERS = {"br": _br, "switch": _switch, "ret": _ret, "call": _call}
