"""Values in instrumented code: every operation also computes the mask of its result."""

from __future__ import annotations

import re
from functools import partial

from kbserver.emulator.checks.function import FAR, HOST, Function
from kbserver.emulator.checks.ir_text import Cursor, Typed, bits_type, flags, is_float, typed_list
from kbserver.emulator.checks.shadow import ZERO

_BINARY = (
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "fadd", "fsub", "fmul", "fdiv", "frem", "and", "or", "xor",
    "shl", "lshr", "ashr",
)  # fmt: skip
_CASTS = ("zext", "sext", "trunc", "bitcast", "fpext", "fptrunc", "uitofp", "sitofp", "fptoui", "fptosi")


def _binary(operation: str, f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    x = cursor.typed()
    cursor.accept(",")
    y = cursor.value()
    a, b = f.mask(x), f.mask(Typed(x.type, y))
    if operation in ("and", "or", "xor"):
        mask = f.m.logic(operation, x, y, a, b)
    elif operation in ("shl", "lshr", "ashr"):
        mask = f.m.shift(operation, x, y, a, b)
    elif operation in ("add", "sub", "mul"):
        mask = f.m.either(x.type, a, b)
    else:
        mask = f.m.whole(x.type, [(x, a), (Typed(x.type, y), b)])
    f.define(name, x.type, mask)


def _cast(operation: str, f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    x = cursor.typed()
    cursor.accept("to")
    to = cursor.rest
    f.define(name, to, f.m.cast(operation, x, to, f.mask(x)))


def _fneg(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    x = cursor.typed()
    f.define(name, x.type, f.mask(x))


def _ptrtoint(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    f.define(name, cursor.rest.rsplit(" to ", 1)[1], None)


def _icmp(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    predicate = cursor.word()
    x = cursor.typed()
    cursor.accept(",")
    y = cursor.value()
    mask = f.m.compare(predicate, x, y, f.mask(x), f.mask(Typed(x.type, y)))
    f.define(name, flags(x.type), mask)


def _fcmp(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    cursor.skip_flags()
    cursor.word()
    x = cursor.typed()
    cursor.accept(",")
    y = Typed(x.type, cursor.value())
    its = flags(x.type)
    f.define(name, its, f.m.whole(its, [(x, f.mask(x)), (y, f.mask(y))]))


def _select(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    cursor.skip_flags()
    c, x, y = typed_list(cursor)
    if x.type == "ptr":
        both = {f.pointer(x.text).kind, f.pointer(y.text).kind}
        f.pointers[name] = HOST if both == {"host"} else FAR
        return
    f.define(name, x.type, f.m.choose(c, x, y, (f.mask(c), f.mask(x), f.mask(y))))


def _phi(f: Function, name: str, text: str, cursor: Cursor) -> None:
    type_ = cursor.word()
    pairs = [part.strip(" []").split(", ") for part in re.findall(r"\[[^\]]*\]", cursor.rest)]
    masks = bits_type(type_)
    f.emit(text)
    if type_ == "ptr":
        kinds = {f.pointer(value).kind for value, _ in pairs}
        f.pointers[name] = HOST if kinds == {"host"} else FAR
    if masks is None:
        return
    incoming = ", ".join(f"[ {f.mask(Typed(type_, value)) or ZERO}, {label} ]" for value, label in pairs)
    f.emit(f"{name}.m = phi {masks} {incoming}")
    f.masks[name] = f"{name}.m"


def _shufflevector(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    x, y, places = typed_list(cursor)
    a, b, masks = f.mask(x), f.mask(y), bits_type(x.type)
    if is_float(x.type) and masks is not None:
        # What floats are moved for is arithmetic: filling the source once is cheaper than every product.
        a, b = f.m.filled(masks, a), f.m.filled(masks, b)
    result = f"<{places.type.split(' x ')[0][1:]} x {x.type.split(' x ')[1][:-1]}>"
    mask = None
    if masks is not None and (a is not None or b is not None):
        mask = f.m.moved(f"shufflevector {masks} {a or ZERO}, {masks} {b or ZERO}, {places.all}", a, b)
    f.define(name, result, mask)


def _insertelement(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    x, value, index = typed_list(cursor)
    a, b = f.mask(x), f.mask(value)
    mask = None
    if a is not None or b is not None:
        its, one = bits_type(x.type), bits_type(value.type)
        mask = f.m.new(f"insertelement {its} {a or ZERO}, {one} {b or ZERO}, {index.all}")
    f.define(name, x.type, mask)


def _extractelement(f: Function, name: str, text: str, cursor: Cursor) -> None:
    f.emit(text)
    x, index = typed_list(cursor)
    a = f.mask(x)
    mask = None if a is None else f.m.new(f"extractelement {bits_type(x.type)} {a}, {index.all}")
    f.define(name, x.type.split(" x ")[1][:-1], mask)


HANDLERS = {
    **{operation: partial(_binary, operation) for operation in _BINARY},
    **{operation: partial(_cast, operation) for operation in _CASTS},
    "fneg": _fneg,
    "freeze": _fneg,
    "ptrtoint": _ptrtoint,
    "icmp": _icmp,
    "fcmp": _fcmp,
    "select": _select,
    "phi": _phi,
    "shufflevector": _shufflevector,
    "insertelement": _insertelement,
    "extractelement": _extractelement,
}
