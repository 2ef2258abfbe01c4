"""Instructions without a rule of one lane: memory, matrix operations, lanes to scalars, control flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from kbserver.emulator.decode import Decoded
from kbserver.emulator.memory import POISON
from kbserver.emulator.operands import VCC, Name, Number, Register
from kbserver.emulator.oracle import atomics, buffers, direct, half_loads, permutes, private_memory
from kbserver.emulator.oracle.media import sliding_dwords
from kbserver.emulator.oracle.mfma import MATRIX
from kbserver.emulator.oracle.mixed import MIXED
from kbserver.emulator.oracle.scaled import SCALED
from kbserver.emulator.oracle.state import LANES, OutOfRange, Wavefront
from kbserver.emulator.oracle.values import Unreadable, constant, register_bits, source

Step = Callable[[Wavefront, Decoded], None]

# suffix -> (bytes, signed)
_NARROW = {"ubyte": (1, False), "sbyte": (1, True), "ushort": (2, False), "sshort": (2, True)}
_DS_NARROW = {"u8": (1, False), "i8": (1, True), "u16": (2, False), "i16": (2, True)}
_WIDE = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4}
_DS_WIDE = {"b32": 1, "b64": 2, "b96": 3, "b128": 4}
_STORES = {"byte": (1, 0), "byte_d16_hi": (1, 16), "short": (2, 0), "short_d16_hi": (2, 16)}
_DS_STORES = {"b8": (1, 0), "b8_d16_hi": (1, 16), "b16": (2, 0), "b16_d16_hi": (2, 16)}


def _operand_register(d: Decoded, place: int) -> Register:
    register = d.operands[place].register
    if register is None:
        raise Unreadable(f"operand {place}")
    return register


def _global_address(wave: Wavefront, d: Decoded, address: int, base: int, lane: int) -> int:
    lanes, scalar = _operand_register(d, address), d.operands[base].value
    if isinstance(scalar, Name):
        return register_bits(wave, lanes, 64, lane) + d.number("offset")
    return register_bits(wave, lanes, 32, lane) + wave.pair(scalar.index) + d.number("offset")  # type: ignore[union-attr]


def _put_dwords(wave: Wavefront, register: Register, lane: int, raw: bytes) -> None:
    for place in range(len(raw) // 4):
        wave.vgprs[register.index + place][lane] = int.from_bytes(raw[4 * place : 4 * place + 4], "little")


def _dwords(wave: Wavefront, register: Register, lane: int, count: int) -> bytes:
    words = (wave.vgprs[register.index + place][lane] for place in range(count))
    return b"".join(word.to_bytes(4, "little") for word in words)


def _extended(raw: bytes, *, signed: bool) -> int:
    return int.from_bytes(raw, "little", signed=signed) % 2**32


def _lds_address(wave: Wavefront, d: Decoded, place: int, lane: int, name: str = "offset", scale: int = 1) -> int:
    return wave.vgprs[_operand_register(d, place).index][lane] + d.number(name) * scale


def _global_load(dwords: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            raw = wave.memory.read(_global_address(wave, d, 1, 2, lane), dwords * 4)
            _put_dwords(wave, _operand_register(d, 0), lane, raw)

    return step


def _global_load_narrow(size: int, signed: bool) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            raw = wave.memory.read(_global_address(wave, d, 1, 2, lane), size)
            wave.vgprs[_operand_register(d, 0).index][lane] = _extended(raw, signed=signed)

    return step


def _global_store(dwords: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            wave.memory.write(
                _global_address(wave, d, 0, 2, lane), _dwords(wave, _operand_register(d, 1), lane, dwords)
            )

    return step


def _global_store_narrow(size: int, shift: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            word = wave.vgprs[_operand_register(d, 1).index][lane] >> shift
            wave.memory.write(_global_address(wave, d, 0, 2, lane), word.to_bytes(4, "little")[:size])

    return step


def _lds_read(dwords: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        read = {lane: wave.lds_read(_lds_address(wave, d, 1, lane), dwords * 4) for lane in wave.active()}
        for lane, raw in read.items():
            _put_dwords(wave, _operand_register(d, 0), lane, raw)

    return step


def _lds_read_narrow(size: int, signed: bool) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            raw = wave.lds_read(_lds_address(wave, d, 1, lane), size)
            wave.vgprs[_operand_register(d, 0).index][lane] = _extended(raw, signed=signed)

    return step


def _lds_write(dwords: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            wave.lds_write(_lds_address(wave, d, 0, lane), _dwords(wave, _operand_register(d, 1), lane, dwords))

    return step


def _lds_write_narrow(size: int, shift: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            word = wave.vgprs[_operand_register(d, 1).index][lane] >> shift
            wave.lds_write(_lds_address(wave, d, 0, lane), word.to_bytes(4, "little")[:size])

    return step


def _lds_read2(dwords: int, stride: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        scale = 4 * dwords * stride
        for lane in wave.active():
            places = [_lds_address(wave, d, 1, lane, name, scale) for name in ("offset0", "offset1")]
            raw = b"".join(wave.lds_read(place, dwords * 4) for place in places)
            _put_dwords(wave, _operand_register(d, 0), lane, raw)

    return step


def _lds_write2(dwords: int, stride: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        scale = 4 * dwords * stride
        for lane in wave.active():
            both = d.number("offset0") != d.number("offset1")
            for operand, name in ((1, "offset0"), (2, "offset1"))[: 2 if both else 1]:
                raw = _dwords(wave, _operand_register(d, operand), lane, dwords)
                wave.lds_write(_lds_address(wave, d, 0, lane, name, scale), raw)

    return step


def _scalar_load(dwords: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        address = wave.pair(_operand_register(d, 1).index) + d.number("offset")
        for operand in d.operands[2:]:
            number = operand.value.value if isinstance(operand.value, Number) else None
            address += int(number) if number is not None else wave.scalars[operand.value.index]  # type: ignore[union-attr]
        address = address // 4 * 4
        target = _operand_register(d, 0).index
        for place in range(dwords):
            try:
                wave.scalars[target + place] = int.from_bytes(wave.memory.read(address + 4 * place, 4), "little")
            except OutOfRange:
                # A widened load may pass its buffer's end inside the last 64-byte line: it reads guard bytes there.
                if place == 0 or (address + 4 * place) % 64 == 0:
                    raise
                wave.scalars[target + place] = POISON * 0x01010101

    return step


def _first_lane(wave: Wavefront, d: Decoded) -> None:
    lane = (wave.active() or [0])[0]
    wave.scalars[_operand_register(d, 0).index] = wave.vgprs[_operand_register(d, 1).index][lane]


def _scalar(wave: Wavefront, d: Decoded, place: int) -> int:
    value = d.operands[place].value
    if isinstance(value, Number):
        return int(value.value) % 2**32
    return wave.scalars[_operand_register(d, place).index]


def _read_lane(wave: Wavefront, d: Decoded) -> None:
    lane = _scalar(wave, d, 2) % LANES
    wave.scalars[_operand_register(d, 0).index] = wave.vgprs[_operand_register(d, 1).index][lane]


def _write_lane(wave: Wavefront, d: Decoded) -> None:
    wave.vgprs[_operand_register(d, 0).index][_scalar(wave, d, 2) % LANES] = _scalar(wave, d, 1)


def _swap(wave: Wavefront, d: Decoded) -> None:
    a, b = (wave.vgprs[_operand_register(d, place).index] for place in (0, 1))
    for lane in wave.active():
        a[lane], b[lane] = b[lane], a[lane]


def _exchange(stride: int) -> Step:
    """v_permlane16_swap, v_permlane32_swap, as AMD's pseudocode walks over the lanes."""

    def step(wave: Wavefront, d: Decoded) -> None:
        target, other = (wave.vgprs[_operand_register(d, place).index] for place in (0, 1))
        for start in range(0, LANES, 2 * stride):
            for lane in range(start, start + stride):
                other[lane], target[lane + stride] = target[lane + stride], other[lane]

    return step


def _move_pair(wave: Wavefront, d: Decoded) -> None:
    chosen = d.modifiers.get("op_sel", (0, 0))
    assert isinstance(chosen, tuple)
    for lane in wave.active():
        words = []
        for place in (0, 1):
            value = d.operands[1 + place].value
            if isinstance(value, Number):
                words.append(constant(value, "b32"))
            else:
                register = _operand_register(d, 1 + place)
                words.append(register_bits(wave, Register(register.file, register.index + chosen[place]), 32, lane))
        for place, word in enumerate(words):
            wave.vgprs[_operand_register(d, 0).index + place][lane] = word


def _count_below(first: int) -> Step:
    """v_mbcnt: ones of 32 bits of a mask, of the lanes from `first` on, that belong to lanes below."""

    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            mask, total = (source(wave, d, place, d.operands[1 + place], "u32", lane) for place in (0, 1))
            below = sum(mask >> bit & 1 for bit in range(32) if first + bit < lane)
            wave.vgprs[_operand_register(d, 0).index][lane] = (below + total) % 2**32

    return step


def _nothing(wave: Wavefront, d: Decoded) -> None:
    del wave, d


# Conditions of s_cbranch.
CONDITIONS: dict[str, Callable[[Wavefront], bool]] = {
    "s_branch": lambda wave: True,
    "s_cbranch_scc0": lambda wave: wave.scc == 0,
    "s_cbranch_scc1": lambda wave: wave.scc == 1,
    "s_cbranch_vccz": lambda wave: wave.pair(VCC) == 0,
    "s_cbranch_vccnz": lambda wave: wave.pair(VCC) != 0,
    "s_cbranch_execz": lambda wave: wave.exec == 0,
    "s_cbranch_execnz": lambda wave: wave.exec != 0,
}


@lru_cache(maxsize=1)
def steps() -> Mapping[str, Step]:
    """Return the step of every mnemonic that has neither a rule nor a condition."""
    table: dict[str, Step] = {
        "v_readfirstlane_b32": _first_lane,
        "v_readlane_b32": _read_lane,
        "v_writelane_b32": _write_lane,
        "v_pk_mov_b32": _move_pair,
        "v_mbcnt_lo_u32_b32": _count_below(0),
        "v_mbcnt_hi_u32_b32": _count_below(32),
        "v_swap_b32": _swap,
        "v_permlane16_swap_b32": _exchange(16),
        "v_permlane32_swap_b32": _exchange(32),
        "v_mqsad_u32_u8": sliding_dwords,
        **{f"global_load_{name}": _global_load(n) for name, n in _WIDE.items()},
        **{f"global_load_{name}": _global_load_narrow(*how) for name, how in _NARROW.items()},
        **{f"global_store_{name}": _global_store(n) for name, n in _WIDE.items()},
        **{f"global_store_{name}": _global_store_narrow(*how) for name, how in _STORES.items()},
        **{f"ds_read_{name}": _lds_read(n) for name, n in _DS_WIDE.items()},
        **{f"ds_read_{name}": _lds_read_narrow(*how) for name, how in _DS_NARROW.items()},
        **{f"ds_write_{name}": _lds_write(n) for name, n in _DS_WIDE.items()},
        **{f"ds_write_{name}": _lds_write_narrow(*how) for name, how in _DS_STORES.items()},
        **{f"s_load_dword{x}": _scalar_load(n) for x, n in (("", 1), ("x2", 2), ("x4", 4), ("x8", 8), ("x16", 16))},
        **dict.fromkeys(("s_waitcnt", "s_nop", "s_setprio", "s_sleep", "v_nop"), _nothing),
        **MATRIX,
        **MIXED,
        **SCALED,
        **atomics.STEPS,
        **buffers.STEPS,
        **{
            name: private_memory.either(private, buffers.STEPS[name])
            for name, private in private_memory.BUFFER_STEPS.items()
        },
        **direct.STEPS,
        **half_loads.STEPS,
        **permutes.STEPS,
        **private_memory.STEPS,
    }
    for dwords, name in ((1, "b32"), (2, "b64")):
        for stride, form in ((1, ""), (64, "st64")):
            table[f"ds_read2{form}_{name}"] = _lds_read2(dwords, stride)
            table[f"ds_write2{form}_{name}"] = _lds_write2(dwords, stride)
    return table
