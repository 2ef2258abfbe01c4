"""Memory in instrumented code: a load brings masks along, a store takes them, and every access is noted."""

from __future__ import annotations

from kbserver.emulator.checks.function import FAR, HOST, Function, Pointer
from kbserver.emulator.checks.ir_text import Cursor, Typed, alignment, arguments, bits_type
from kbserver.emulator.checks.runtime import ADDRESS
from kbserver.emulator.checks.shadow import ZERO, Mask
from kbserver.emulator.operands import EXEC, FUEL

# Scalar slots that the emulator itself keeps defined: EXEC is checked where it is written.
_ALWAYS_DEFINED = {f"i64 {4 * place}" for place in (EXEC, EXEC + 1, FUEL, FUEL + 1)}


def _alloca(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    type_ = cursor.word()
    f.emit(f"{name}.p = alloca {cursor.text}")
    f.emit(f"store {type_} {ZERO}, ptr {name}.p")
    f.pointers[name] = Pointer("registers", f"{name}.p")


def _getelementptr(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    element = cursor.word()
    cursor.accept(",")
    base = cursor.typed()
    indices = cursor.rest.lstrip(", ")
    its = f.pointer(base.text)
    for index in arguments(indices):
        if its.kind == "lds" or its.kind == "far":
            f.check(index.type, f.mask(index), ADDRESS)
    if its.masks is None:
        f.pointers[name] = its
        return
    if f.is_kernel and (base.text, element) == ("%s", "i8") and indices in _ALWAYS_DEFINED:
        f.pointers[name] = HOST
        return
    f.emit(f"{name}.p = getelementptr {element}, ptr {its.masks}, {indices}")
    f.pointers[name] = Pointer(its.kind, f"{name}.p")


def _inttoptr(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    source = cursor.typed()
    f.check(source.type, f.mask(source), ADDRESS)
    f.pointers[name] = FAR


def _load(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    cursor.accept("atomic")
    type_ = cursor.word()
    cursor.accept(",")
    pointer = cursor.typed().text
    its, masks = f.pointer(pointer), bits_type(type_)
    if type_ == "ptr":
        f.pointers[name] = HOST
    if masks is None or its.kind == "host":
        f.define(name, type_, None)
        return
    from_ = its.masks or f.m.new(f"call ptr @shadow_at(ptr {pointer})")
    align = alignment(cursor.rest)
    f.define(name, type_, f.m.new(f"load {masks}, ptr {from_}{align}"))
    _access(f, its, pointer, type_, 0)


def _store(f: Function, name: str | None, text: str, cursor: Cursor) -> None:
    del name
    f.emit(text)
    cursor.accept("atomic")
    value = cursor.typed()
    cursor.accept(",")
    pointer = cursor.typed().text
    _set(f, pointer, value.type, f.mask(value), alignment(cursor.rest))


def _set(f: Function, pointer: str, type_: str, mask: Mask, align: str) -> None:
    """Store a mask beside the value that went to this pointer."""
    its, masks = f.pointer(pointer), bits_type(type_)
    if masks is None or its.kind == "host":
        return
    if its.kind == "far" and mask is not None:
        f.emit(f"call void @check_stored(ptr {pointer}, i1 {f.m.any_lane(masks, mask)})")
    to = its.masks or f.m.new(f"call ptr @shadow_to(ptr {pointer})")
    f.emit(f"store {masks} {mask or ZERO}, ptr {to}{align}")
    _access(f, its, pointer, type_, 1)


def _access(f: Function, its: Pointer, pointer: str, type_: str, writes: int) -> None:
    if its.kind in ("lds", "far"):
        size = f"ptrtoint (ptr getelementptr ({type_}, ptr null, i32 1) to i64)"
        f.tell_site()
        f.emit(f"call void @check_access(ptr {pointer}, i64 {size}, i64 {writes})")


def _atomicrmw(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    cursor.skip_flags()
    cursor.word()
    pointer = cursor.typed().text
    cursor.accept(",")
    value = cursor.typed()
    _atomic(f, name, pointer, value.type, [value])


def _cmpxchg(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    cursor.accept("weak")
    cursor.skip_flags()
    pointer = cursor.typed().text
    cursor.accept(",")
    compared = cursor.typed()
    cursor.accept(",")
    value = cursor.typed()
    _atomic(f, None, pointer, value.type, [compared, value])


def _atomic(f: Function, name: str | None, pointer: str, type_: str, values: list[Typed]) -> None:
    """Read, combine and write back; the access counts as both."""
    its, masks = f.pointer(pointer), bits_type(type_)
    if masks is None or its.kind == "host":
        return
    given = f.m.either(masks, *(f.mask(value) for value in values))
    from_ = its.masks or f.m.new(f"call ptr @shadow_at(ptr {pointer})")
    old = f.m.new(f"load {masks}, ptr {from_}, align 1")
    f.define(name, type_, old)
    if its.kind == "far" and given is not None:
        f.emit(f"call void @check_stored(ptr {pointer}, i1 {f.m.any_lane(masks, given)})")
    to = its.masks or f.m.new(f"call ptr @shadow_to(ptr {pointer})")
    f.emit(f"store {masks} {f.m.either(masks, old, given)}, ptr {to}, align 1")
    _access(f, its, pointer, type_, 0)
    _access(f, its, pointer, type_, 1)


HANDLERS = {
    "alloca": _alloca,
    "getelementptr": _getelementptr,
    "inttoptr": _inttoptr,
    "load": _load,
    "store": _store,
    "atomicrmw": _atomicrmw,
    "cmpxchg": _cmpxchg,
}
