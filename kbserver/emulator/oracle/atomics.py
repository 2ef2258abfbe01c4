"""Atomics, lane by lane in ascending order, from the DS and FLAT chapters of the CDNA4 manual and its chapter on float
memory atomics."""

from __future__ import annotations

import math
from collections.abc import Callable

from kbserver.emulator.decode import Decoded
from kbserver.emulator.oracle.arithmetic import add
from kbserver.emulator.oracle.convert import bf16_bits
from kbserver.emulator.oracle.formats import from_bits, is_nan, to_bits
from kbserver.emulator.oracle.state import Wavefront
from kbserver.emulator.oracle.values import Unreadable, register_bits

Step = Callable[[Wavefront, Decoded], None]
Update = Callable[[int, int, int], int]
"""(what memory holds, first operand, second operand) -> what it holds then, all as bits."""


def _signed(value: int, bits: int) -> int:
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def _float_sum(bits: int) -> Update:
    return lambda held, data, _: to_bits(add(from_bits(held, bits), from_bits(data, bits)), bits)


def _flushed(bits: int) -> int:
    """Return an f32 whose denormals are zeros of their sign."""
    return bits if bits >> 23 & 0xFF else bits & 0x80000000


def _flushed_sum(held: int, data: int, _: int) -> int:
    return to_bits(add(from_bits(_flushed(held), 32), from_bits(_flushed(data), 32)), 32)


def _float_choice(bits: int, *, largest: bool) -> Update:
    """The selection rules of the manual: a signaling NaN becomes quiet, a quiet one loses, -0 is below +0."""
    quiet = 1 << (22 if bits == 32 else 51)

    def place(value: int) -> tuple[int, float, int]:
        number = from_bits(value, bits)
        if math.isnan(number):
            return (-1 if largest else 1, 0.0, 0)
        return (0, number, 0 if value >> (bits - 1) else 1)

    def update(held: int, data: int, _: int) -> int:
        for value in (held, data):
            if is_nan(value, bits) and not value & quiet:
                return value | quiet
        better = place(data) > place(held) if largest else place(data) < place(held)
        return data if better else held

    return update


def _halves(one: Callable[[int, int], int]) -> Update:
    def both(held: int, data: int, _: int) -> int:
        return one(held % 2**16, data % 2**16) | one(held >> 16, data >> 16) << 16

    return both


def _bf16_sum(held: int, data: int) -> int:
    exact = add(from_bits(held << 16, 32), from_bits(data << 16, 32))
    return bf16_bits(exact if isinstance(exact, float) else float(exact))


def _integer(bits: int) -> dict[str, Update]:
    def smallest(held: int, data: int, _: int) -> int:
        return data if _signed(data, bits) < _signed(held, bits) else held

    def largest(held: int, data: int, _: int) -> int:
        return data if _signed(data, bits) >= _signed(held, bits) else held

    return {
        "add": lambda held, data, _: held + data,
        "sub": lambda held, data, _: held - data,
        "rsub": lambda held, data, _: data - held,
        "inc": lambda held, data, _: 0 if held >= data else held + 1,
        "dec": lambda held, data, _: data if held == 0 or held > data else held - 1,
        "smin": smallest,
        "smax": largest,
        "umin": lambda held, data, _: min(held, data),
        "umax": lambda held, data, _: max(held, data),
        "and": lambda held, data, _: held & data,
        "or": lambda held, data, _: held | data,
        "xor": lambda held, data, _: held ^ data,
        "swap": lambda held, data, _: data,
        "mskor": lambda held, clear, set_: held - (held & clear) | set_,
        "wrap": lambda held, data, more: held - data if held >= data else held + more,
    }


_FLOATS: dict[str, Update] = {
    "add_f32": _flushed_sum,  # in memory; LDS keeps denormals
    "add_f64": _float_sum(64),
    **{f"min_f{bits}": _float_choice(bits, largest=False) for bits in (32, 64)},
    **{f"max_f{bits}": _float_choice(bits, largest=True) for bits in (32, 64)},
    "pk_add_f16": _halves(lambda a, b: to_bits(add(from_bits(a, 16), from_bits(b, 16)), 16)),
    "pk_add_bf16": _halves(_bf16_sum),
}


def _bits_of(d: Decoded, place: int, dwords: int, lane: int, wave: Wavefront, first: int = 0) -> int:
    register = d.operands[place].register
    if register is None:
        raise Unreadable(f"operand {place}")
    words = [wave.vgprs[register.index + first + n][lane] for n in range(dwords)]
    return sum(word << 32 * n for n, word in enumerate(words))


def _put(wave: Wavefront, d: Decoded, place: int, value: int, dwords: int, lane: int, first: int = 0) -> None:
    register = d.operands[place].register
    assert register is not None
    for n in range(dwords):
        wave.vgprs[register.index + first + n][lane] = value >> 32 * n & 0xFFFFFFFF


def _aligned(address: int, size: int) -> int:
    if address % size:
        raise Unreadable("an atomic that is not aligned")
    return address


def _lds_step(update: Update, bits: int, *, returns: bool, operands: int) -> Step:
    size, first = bits // 8, 1 if returns else 0

    def step(wave: Wavefront, d: Decoded) -> None:
        olds = {}
        for lane in wave.active():
            address = _aligned(_bits_of(d, first, 1, lane, wave) + d.number("offset"), size)
            data = [_bits_of(d, first + 1 + n, bits // 32, lane, wave) for n in range(operands)]
            olds[lane] = int.from_bytes(wave.lds_read(address, size), "little")
            new = update(olds[lane], data[0], data[-1]) % 2**bits
            wave.lds_write(address, new.to_bytes(size, "little"))
        if returns:
            for lane, old in olds.items():
                _put(wave, d, 0, old, bits // 32, lane)

    return step


def _lds_exchange_two(bits: int, stride: int) -> Step:
    size, dwords = bits // 8, bits // 32

    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            base, data = _bits_of(d, 1, 1, lane, wave), [_bits_of(d, 2 + n, dwords, lane, wave) for n in (0, 1)]
            for n in (0, 1):
                address = _aligned(base + d.number(f"offset{n}") * size * stride, size)
                _put(wave, d, 0, int.from_bytes(wave.lds_read(address, size), "little"), dwords, lane, n * dwords)
                wave.lds_write(address, data[n].to_bytes(size, "little"))

    return step


def memory_address(wave: Wavefront, d: Decoded, address: int, base: int, lane: int) -> int:
    """Return a lane's address of a global instruction."""
    lanes, scalar = d.operands[address].register, d.operands[base].register
    assert lanes is not None
    if scalar is None:
        return register_bits(wave, lanes, 64, lane) + d.number("offset")
    return register_bits(wave, lanes, 32, lane) + wave.pair(scalar.index) + d.number("offset")


def _global_step(update: Update, bits: int, *, compares: bool = False) -> Step:
    size, dwords = bits // 8, bits // 32

    def step(wave: Wavefront, d: Decoded) -> None:
        returns = len(d.operands) == 4
        olds = {}
        for lane in wave.active():
            address = _aligned(memory_address(wave, d, returns, 2 + returns, lane), size)
            data = _bits_of(d, 1 + returns, dwords, lane, wave)
            wanted = _bits_of(d, 1 + returns, dwords, lane, wave, dwords) if compares else 0
            olds[lane] = int.from_bytes(wave.memory.read(address, size), "little")
            new = update(olds[lane], data, wanted) % 2**bits
            wave.memory.write(address, new.to_bytes(size, "little"))
        if returns:
            for lane, old in olds.items():
                _put(wave, d, 0, old, dwords, lane)

    return step


def _if_equal(held: int, new: int, wanted: int) -> int:
    return new if held == wanted else held


def _if_equal_first(held: int, wanted: int, new: int) -> int:
    return new if held == wanted else held


def _if_equal_floats(bits: int) -> Update:
    def update(held: int, wanted: int, new: int) -> int:
        a, b = from_bits(held, bits), from_bits(wanted, bits)
        return new if not math.isnan(a) and a == b else held

    return update


_DS_TYPES = {
    "u": ("add", "sub", "rsub", "inc", "dec", "umin", "umax"),
    "i": ("smin", "smax"),
    "b": ("and", "or", "xor", "mskor"),
}


def _ds_steps() -> dict[str, Step]:
    table: dict[str, Step] = {}

    def define(verb: str, type_: str, update: Update, bits: int, operands: int = 1) -> None:
        table[f"ds_{verb}_{type_}"] = _lds_step(update, bits, returns=False, operands=operands)
        table[f"ds_{verb}_rtn_{type_}"] = _lds_step(update, bits, returns=True, operands=operands)

    for bits in (32, 64):
        integer = _integer(bits)
        for letter, names in _DS_TYPES.items():
            for name in names:
                verb = name[1:] if name in ("umin", "umax", "smin", "smax") else name
                define(verb, f"{letter}{bits}", integer[name], bits, 2 if name == "mskor" else 1)
        define("cmpst", f"b{bits}", _if_equal_first, bits, 2)
        define("cmpst", f"f{bits}", _if_equal_floats(bits), bits, 2)
        for verb in ("add", "min", "max"):
            define(verb, f"f{bits}", _float_sum(bits) if verb == "add" else _FLOATS[f"{verb}_f{bits}"], bits)
        table[f"ds_wrxchg_rtn_b{bits}"] = _lds_step(integer["swap"], bits, returns=True, operands=1)
        table[f"ds_wrxchg2_rtn_b{bits}"] = _lds_exchange_two(bits, 1)
        table[f"ds_wrxchg2st64_rtn_b{bits}"] = _lds_exchange_two(bits, 64)
    for type_ in ("f16", "bf16"):
        define("pk_add", type_, _FLOATS[f"pk_add_{type_}"], 32)
    table["ds_wrap_rtn_b32"] = _lds_step(_integer(32)["wrap"], 32, returns=True, operands=2)
    return table


def _memory_updates() -> dict[str, tuple[Update, int, bool]]:
    table: dict[str, tuple[Update, int, bool]] = {}
    for bits, suffix in ((32, ""), (64, "_x2")):
        for name, update in _integer(bits).items():
            if name not in ("rsub", "mskor", "wrap"):
                table[f"{name}{suffix}"] = (update, bits, False)
        table[f"cmpswap{suffix}"] = (_if_equal, bits, True)
    for name, update in _FLOATS.items():
        if name not in ("min_f32", "max_f32"):
            table[name] = (update, 64 if name.endswith("f64") else 32, False)
    return table


MEMORY_UPDATES = _memory_updates()
"""What follows `global_atomic_` or `flat_atomic_` -> (update, bits, whether it compares first)."""


STEPS: dict[str, Step] = {
    **_ds_steps(),
    **{
        f"global_atomic_{name}": _global_step(update, bits, compares=compares)
        for name, (update, bits, compares) in MEMORY_UPDATES.items()
    },
}
