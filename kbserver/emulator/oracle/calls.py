"""Calls, computed jumps and indexed registers in the interpreter, from the SOP1 and SOPP chapters of the manuals."""

from __future__ import annotations

from kbserver.emulator.decode import Decoded
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.linking import label_of, lost
from kbserver.emulator.operands import M0, Number, Register, SymbolPart
from kbserver.emulator.oracle.state import Wavefront
from kbserver.emulator.oracle.values import Unreadable

_SRC0, _DST = 1, 8


def follow(kernel: Kernel, wave: Wavefront, d: Decoded) -> bool:
    """Execute an instruction that reads or changes the program counter; False when this is none."""
    after = kernel.addresses[d.index + 1]
    if d.name == "s_getpc_b64":
        wave.set_pair(_pair(d, 0), after)
    elif d.name == "s_setpc_b64":
        wave.pc = _entry(kernel, d, wave.pair(_pair(d, 0)))
    elif d.name == "s_swappc_b64":
        target = wave.pair(_pair(d, 1))
        wave.set_pair(_pair(d, 0), after)
        wave.pc = _entry(kernel, d, target)
    elif d.name == "s_call_b64":
        wave.set_pair(_pair(d, 0), after)
        wave.pc = kernel.labels[label_of(d)]
    else:
        return False
    return True


def _pair(d: Decoded, place: int) -> int:
    return _register(d, place).index


def _register(d: Decoded, place: int) -> Register:
    register = d.operands[place].register
    if register is None:
        raise Unreadable(f"operand {place}")
    return register


def _entry(kernel: Kernel, d: Decoded, address: int) -> int:
    for entry in kernel.entries.all:
        if kernel.addresses[entry] == address:
            return entry
    raise lost(d, address)


def symbol_part(wave: Wavefront, part: SymbolPart) -> int:
    """Return the dword that a relocation stands for."""
    address = (wave.symbols_at + 8 * part.slot if part.entry else wave.symbols[part.slot]) + part.delta
    return address // 2**32 % 2**32 if part.high else address % 2**32


def index_mode(wave: Wavefront, d: Decoded) -> bool:
    """Execute s_set_gpr_idx_*, or a move whose registers M0 indexes; False when this is neither."""
    if d.name == "s_set_gpr_idx_off":
        wave.indexed = 0
    elif d.name in ("s_set_gpr_idx_on", "s_set_gpr_idx_idx"):
        source = d.operands[0]
        number = source.value.value if isinstance(source.value, Number) else wave.scalars[_register(d, 0).index]
        kept = wave.scalars[M0] // 256 * 256
        if d.name == "s_set_gpr_idx_on":
            names = str(d.modifiers["gpr_idx"]).split(",")
            wave.indexed = sum({"SRC0": _SRC0, "SRC1": 2, "SRC2": 4, "DST": _DST}[name] for name in names)
            kept = kept % 2**12 | kept >> 16 << 16 | wave.indexed << 12
        wave.scalars[M0] = kept | int(number) % 256
    elif wave.indexed and d.name.startswith("v_"):
        _indexed_move(wave, d)
    else:
        return False
    return True


def _indexed_move(wave: Wavefront, d: Decoded) -> None:
    if d.name != "v_mov_b32" or wave.indexed not in (_SRC0, _DST):
        raise Unreadable(f"{d.name} with indexed registers")
    add = wave.scalars[M0] % 256
    to, source = _register(d, 0).index, d.operands[1]
    if wave.indexed == _SRC0:
        place = _register(d, 1).index + add
        values = wave.vgprs[place if place < len(wave.vgprs) else 0]
    elif isinstance(source.value, Number):
        values = [int(source.value.value) % 2**32] * len(wave.vgprs[0])
    else:
        register = _register(d, 1)
        values = [wave.scalars[register.index]] * 64 if register.file == "s" else wave.vgprs[register.index]
    if wave.indexed == _DST:
        to += add
    if to < len(wave.vgprs):
        for lane, value in [(lane, values[lane]) for lane in wave.active()]:
            wave.vgprs[to][lane] = value
