"""Read an AMD GPU code object (ELF64, little endian): target, functions, kernel descriptors, metadata.

The files come from anywhere, so every offset and size is checked against the file before it is used. Layout: LLVM's
AMDGPUUsage, "Code Object" and "Kernel Descriptor".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kbserver.core.errors import Unavailable, UsageError

MAGIC = b"\x7fELF"
EM_AMDGPU = 224
_ET_REL = 1
_SHT_PROGBITS, _SHT_SYMTAB, _SHT_RELA, _SHT_NOTE, _SHT_NOBITS, _SHT_DYNSYM = 1, 2, 4, 7, 8, 11
_SHF_WRITE, _SHF_ALLOC, _SHF_EXECINSTR = 1, 2, 4
_R_AMDGPU_ABS64, _R_AMDGPU_RELATIVE64 = 3, 13
_STT_FUNC = 2
_NT_AMDGPU_METADATA = 32
_MAX_ENTRIES = 65536
DESCRIPTOR_BYTES = 64

# EF_AMDGPU_MACH of e_flags, low byte -> target, for the targets of this project and their near relatives.
_MACHS = {
    0x2C: "gfx900", 0x2F: "gfx906", 0x30: "gfx908", 0x3F: "gfx90a", 0x40: "gfx940", 0x4B: "gfx941", 0x4C: "gfx942",
    0x4F: "gfx950", 0x36: "gfx1030", 0x41: "gfx1100", 0x48: "gfx1200", 0x4E: "gfx1201", 0x49: "gfx1250",
}  # fmt: skip

_GFX = re.compile(r"gfx[\w-]+")


@dataclass(frozen=True)
class Symbol:
    """A named place: virtual address and size in bytes."""

    name: str
    address: int
    size: int


@dataclass(frozen=True)
class Section:
    """One section: where it is loaded, and where its bytes are in the file."""

    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def writable(self) -> bool:
        return bool(self.flags & _SHF_WRITE)


@dataclass(frozen=True)
class CodeObject:
    """What a linked code object says about itself. `descriptors` maps a kernel's name to its 64 bytes.

    data: the sections of constants and variables. pointers: address -> the address that the loader writes there.
    """

    target: str
    functions: tuple[Symbol, ...]
    descriptors: Mapping[str, bytes]
    metadata: Mapping[str, Any]
    data: tuple[Section, ...]
    pointers: Mapping[int, int]
    image: bytes

    def bytes_of(self, section: Section) -> bytes:
        """Return the contents of a section; zeros for one that the file has no bytes of."""
        if section.kind == _SHT_NOBITS:
            return bytes(section.size)
        return _slice(self.image, section.offset, section.size)

    def pointers_in(self, section: Section) -> dict[int, int]:
        """Return offset -> address of the pointers that lie in a section."""
        last = section.address + section.size - 8
        return {at - section.address: to for at, to in self.pointers.items() if section.address <= at <= last}


def read_code_object(data: bytes, where: str) -> CodeObject:
    """Return the contents of a code object. Raises UsageError for what is none, or is cut or inconsistent."""
    try:
        return _read(data, where)
    except (struct.error, IndexError, OverflowError, UnicodeDecodeError) as error:
        raise UsageError(f"the ELF file is damaged: {error}", where=where) from None


def is_gpu_elf(data: bytes) -> bool:
    """Return whether the bytes start like an ELF file for AMD GPUs."""
    return data[:6] == MAGIC + b"\x02\x01" and data[18:20] == struct.pack("<H", EM_AMDGPU)


def _read(data: bytes, where: str) -> CodeObject:
    if not is_gpu_elf(data):
        raise UsageError("this is no 64-bit ELF file for AMD GPUs", where=where)
    kind, _, _, _, _, table, flags, _, _, _, entry, count, _ = struct.unpack_from("<HHIQQQIHHHHHH", data, 16)
    if kind == _ET_REL:
        raise UsageError("this object is not linked yet: its addresses are unknown", where=where,
                         hint="link it: ld.lld -shared -o kernel.co kernel.o")  # fmt: skip
    if entry != 64 or count > _MAX_ENTRIES:
        raise UsageError("the ELF file is damaged: its section table", where=where)
    sections = [_section(data, table + 64 * place) for place in range(count)]
    symbols = list(_symbols(data, sections))
    descriptors = {}
    for symbol, kind in symbols:
        if symbol.name.endswith(".kd") and symbol.size == DESCRIPTOR_BYTES and kind != _STT_FUNC:
            descriptors[symbol.name.removesuffix(".kd")] = _at(data, sections, symbol.address, DESCRIPTOR_BYTES)
    metadata = _metadata(data, sections, where)
    functions = {symbol.name: symbol for symbol, kind in symbols if kind == _STT_FUNC and symbol.name}
    if not descriptors:
        raise UsageError("the code object has no kernel: there is no kernel descriptor in it", where=where)
    return CodeObject(
        target=_target(flags, metadata, where),
        functions=tuple(functions.values()),
        descriptors=descriptors,
        metadata=metadata,
        data=tuple(section for section in sections if _is_data(section, len(data))),
        pointers=_pointers(data, sections),
        image=data,
    )


def _is_data(section: Section, file_bytes: int) -> bool:
    if section.flags & (_SHF_ALLOC | _SHF_EXECINSTR) != _SHF_ALLOC or not section.size:
        return False
    if section.kind == _SHT_PROGBITS and section.offset + section.size > file_bytes:
        raise IndexError(f"{section.size} bytes at {section.offset} lie past its end")
    return section.kind in (_SHT_PROGBITS, _SHT_NOBITS)


def _pointers(data: bytes, sections: list[Section]) -> dict[int, int]:
    """Return what the loader writes where; a pointer to what is defined elsewhere is left out."""
    found = {}
    for section in sections:
        if section.kind == _SHT_RELA and section.flags & _SHF_ALLOC:
            table = _slice(data, section.offset, section.size)
            symbols = sections[section.link]
            for place in range(min(len(table) // 24, _MAX_ENTRIES)):
                at, info, addend = struct.unpack_from("<QQq", table, 24 * place)
                if info & 0xFFFFFFFF == _R_AMDGPU_RELATIVE64:
                    found[at] = addend
                elif info & 0xFFFFFFFF == _R_AMDGPU_ABS64:
                    entry = _slice(data, symbols.offset + 24 * (info >> 32), 24)
                    if entry[6:8] != b"\0\0":
                        found[at] = struct.unpack_from("<Q", entry, 8)[0] + addend
    return found


def _section(data: bytes, offset: int) -> Section:
    _, kind, flags, address, place, size, link, _, _, _ = struct.unpack_from("<IIQQQQIIQQ", data, offset)
    return Section(kind, flags, address, place, size, link)


def _slice(data: bytes, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise IndexError(f"{size} bytes at {offset} lie past its end")
    return data[offset : offset + size]


def _at(data: bytes, sections: list[Section], address: int, size: int) -> bytes:
    """Return the bytes that are loaded at a virtual address."""
    for section in sections:
        inside = section.address <= address and address + size <= section.address + section.size
        if inside and section.address and section.kind != _SHT_NOBITS:
            return _slice(data, section.offset + address - section.address, size)
    raise IndexError(f"no section holds address {address:#x}")


def _symbols(data: bytes, sections: list[Section]) -> Iterator[tuple[Symbol, int]]:
    for kind in (_SHT_DYNSYM, _SHT_SYMTAB):
        for section in sections:
            if section.kind == kind:
                names = sections[section.link]
                text = _slice(data, names.offset, names.size)
                table = _slice(data, section.offset, section.size)
                for place in range(min(len(table) // 24, _MAX_ENTRIES)):
                    name, info, _, index, address, size = struct.unpack_from("<IBBHQQ", table, 24 * place)
                    if index:  # 0: defined elsewhere
                        yield Symbol(text[name : text.find(b"\0", name)].decode(), address, size), info & 15


def _metadata(data: bytes, sections: list[Section], where: str) -> Mapping[str, Any]:
    for section in sections:
        if section.kind == _SHT_NOTE:
            notes = _slice(data, section.offset, section.size)
            offset = 0
            while offset + 12 <= len(notes):
                name_size, size, kind = struct.unpack_from("<III", notes, offset)
                name = _slice(notes, offset + 12, name_size)
                start = offset + 12 + (name_size + 3) // 4 * 4
                if kind == _NT_AMDGPU_METADATA and name == b"AMDGPU\0":
                    return _unpack(_slice(notes, start, size), where)
                offset = start + (size + 3) // 4 * 4
    return {}


def _unpack(packed: bytes, where: str) -> Mapping[str, Any]:
    try:
        import msgpack
    except ImportError:
        raise Unavailable("reading the metadata of a code object needs msgpack", where=where,
                          hint="pip install 'kbserver[emulate]'") from None  # fmt: skip
    try:
        metadata = msgpack.unpackb(packed)
    except (ValueError, RecursionError, msgpack.exceptions.UnpackException) as error:
        raise UsageError(f"the metadata of the code object is damaged: {error}", where=where) from None
    return metadata if isinstance(metadata, dict) else {}


def _target(flags: int, metadata: Mapping[str, Any], where: str) -> str:
    """Return the gfx target; the metadata and the ELF header must agree on it."""
    by_flags = _MACHS.get(flags & 0xFF)
    triple = _GFX.search(str(metadata.get("amdhsa.target", "")))
    named = triple[0] if triple else ""
    if by_flags and named and by_flags != named:
        raise UsageError(f"the ELF header says {by_flags}, the metadata {named[:40]}", where=where)
    if not (named or by_flags):
        raise UsageError(f"the code object is for a target that is not known: e_flags {flags:#x}", where=where)
    return named or by_flags or ""
