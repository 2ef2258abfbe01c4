"""Atomics: LDS (DS) and global memory. The old value comes back in the _rtn forms, and with sc0 (glc on gfx90a)."""

from __future__ import annotations

from kbserver.emulator.access import BadOperand
from kbserver.emulator.decode import Decoded
from kbserver.emulator.operands import Register
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.runtime.atomic_operations import OPERATIONS
from kbserver.emulator.semantics.global_memory import CACHE_BITS, global_addresses
from kbserver.emulator.translate import Translation

# Verb and type of a DS mnemonic -> operation of the runtime. The _rtn form has _rtn between the two.
_DS_INTEGER = {
    "add_u": "add", "sub_u": "sub", "rsub_u": "rsub", "inc_u": "inc", "dec_u": "dec", "min_i": "smin",
    "max_i": "smax", "min_u": "umin", "max_u": "umax", "and_b": "and", "or_b": "or", "xor_b": "xor",
    "mskor_b": "mskor", "cmpst_b": "cmpswap",
}  # fmt: skip
_DS = {
    **{f"{name}{bits}": f"{operation}_{bits}" for name, operation in _DS_INTEGER.items() for bits in (32, 64)},
    **{f"{verb}_f{bits}": f"{verb}_f{bits}" for verb in ("add", "min", "max") for bits in (32, 64)},
    **{f"cmpst_f{bits}": f"cmpswap_f{bits}" for bits in (32, 64)},
    "pk_add_f16": "pk_add_f16",
    "pk_add_bf16": "pk_add_bf16",
}
_DS_RETURNING = {"wrxchg_b32": "swap_32", "wrxchg_b64": "swap_64", "wrap_b32": "wrap_32"}

_INTEGER = ("add", "sub", "inc", "dec", "smin", "smax", "umin", "umax", "and", "or", "xor", "swap", "cmpswap")
MEMORY_ATOMICS = {
    **{name: f"{name}_32" for name in _INTEGER},
    **{f"{name}_x2": f"{name}_64" for name in _INTEGER},
    **{name: name for name in ("pk_add_f16", "pk_add_bf16", "add_f64", "min_f64", "max_f64")},
    "add_f32": "add_f32_flushed",
}
"""What follows `global_atomic_` (and buffer_, flat_) -> operation of the runtime."""


def call_atomic(
    t: Translation, d: Decoded, routine: str, addresses: str, offset: int, data: int, second: int, to: Register | None
) -> None:
    """Call a routine of `runtime.atomics`; data and second are the first VGPRs of the operands."""
    pointer = t.registers.vgpr_pointer
    result = f"ptr {pointer(to.index)}" if to else "ptr null"
    t.call(
        routine,
        f"ptr {addresses}, {t.registers.exec_bits.typed}, i64 {offset}, ptr {pointer(data)}, ptr {pointer(second)}, "
        f"{result}, ptr %lds, ptr %ctx, i32 {d.index}",
    )


def returns_old(t: Translation, d: Decoded) -> bool:
    """Return whether an atomic on memory gives the old value back."""
    return "glc" in d.modifiers if t.arch == "gfx90a" else "sc0" in d.modifiers


def _lds(name: str, *, returns: bool) -> Special:
    """[old,] address, data, and for some a second operand: the compare comes before the new value."""
    operation = OPERATIONS[name]
    dwords = operation.bits // 32
    first = 1 if returns else 0
    swapped = name.startswith("cmpswap")

    def function(t: Translation, d: Decoded) -> None:
        to = d.register(0, "v", dwords) if returns else None
        address = t.registers.vgpr_pointer(d.register(first, "v", 1).index)
        data = d.register(first + 1, "v", dwords).index
        second = d.register(first + 2, "v", dwords).index if operation.two else data
        if swapped:
            data, second = second, data
        call_atomic(t, d, f"lds_atomic_{name}", address, d.number("offset"), data, second, to)

    reads = tuple(range(first, first + 2 + operation.two))
    return Special(function, frozenset({"offset"}), writes=(0,) if returns else (), reads=reads, counter="lgkmcnt")


def _exchange_two(bits: int, stride: int) -> Special:
    """old (both), address, first and second value; the offsets count elements, or 64 of them."""
    dwords = bits // 32
    scale = bits // 8 * stride

    def function(t: Translation, d: Decoded) -> None:
        to = d.register(0, "v", 2 * dwords)
        sources = [d.register(place, "v", count) for place, count in ((1, 1), (2, dwords), (3, dwords))]
        if d.number("offset0") == d.number("offset1"):
            raise BadOperand("both exchanges have one address")
        targets = {to.index + place for place in range(dwords)}
        for source in (sources[0], sources[2]):
            if targets & {source.index + place for place in range(source.count)}:
                raise BadOperand("the first old value would overwrite what the second exchange reads")
        for place in (0, 1):
            address, data = t.registers.vgpr_pointer(sources[0].index), sources[1 + place].index
            part = Register("v", to.index + place * dwords, dwords)
            offset = d.number(f"offset{place}") * scale
            call_atomic(t, d, f"lds_atomic_swap_{bits}", address, offset, data, data, part)

    modifiers = frozenset({"offset0", "offset1"})
    return Special(function, modifiers, writes=(0,), reads=(1, 2, 3), counter="lgkmcnt")


def _places(d: Decoded) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return ((0,), (1, 2, 3)) if len(d.operands) == 4 else ((), (0, 1, 2))


def _global(name: str) -> Special:
    """[old,] address, data, base. Of a compare the data are the new value, then the value to find."""
    operation = OPERATIONS[name]
    dwords = operation.bits // 32
    width = dwords * (2 if operation.two else 1)

    def function(t: Translation, d: Decoded) -> None:
        returns = returns_old(t, d)
        if len(d.operands) != 3 + returns:
            raise BadOperand("the old value is returned exactly when sc0 (glc on gfx90a) is set")
        to = d.register(0, "v", dwords) if returns else None
        data = d.register(1 + returns, "v", width).index
        addresses = global_addresses(t, d, d.operands[returns], d.operands[2 + returns])
        t.emitter.store(addresses, "%addresses", align=64)
        call_atomic(t, d, f"global_atomic_{name}", "%addresses", 0, data, data + width - dwords, to)

    return Special(function, CACHE_BITS | {"offset"}, counter="vmcnt", places=_places)


def _returning(name: str) -> str:
    verb, type_ = name.rsplit("_", 1)
    return f"ds_{verb}_rtn_{type_}"


ROWS: dict[str, Row] = {
    **{f"ds_{name}": _lds(operation, returns=False) for name, operation in _DS.items()},
    **{_returning(name): _lds(operation, returns=True) for name, operation in (_DS | _DS_RETURNING).items()},
    **{
        f"ds_wrxchg2{form}_rtn_b{bits}": _exchange_two(bits, stride)
        for bits in (32, 64)
        for form, stride in (("", 1), ("st64", 64))
    },
    **{f"global_atomic_{name}": _global(operation) for name, operation in MEMORY_ATOMICS.items()},
}
LDS_ATOMICS = frozenset(name for name in ROWS if name.startswith("ds_"))
