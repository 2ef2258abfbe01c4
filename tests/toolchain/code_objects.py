"""A small code object as a file of the tests, what llvm-objdump 22 printed of it, and offload bundles around it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kbserver.core.errors import Unavailable
from kbserver.toolchain.disassembler import find_disassembler

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "code_objects"
SCALE = FOLDER / "scale.co"
SCALE_TEXT = FOLDER / "scale.s"
SCALE_DUMP = FOLDER / "scale.objdump.txt"


def _missing() -> bool:
    try:
        find_disassembler()
    except Unavailable:
        return True
    return False


needs_objdump = pytest.mark.skipif(
    _missing(), reason="SKIPPED LOUDLY: no llvm-objdump for AMD GPUs (apt install llvm-22, or ROCm, or KB_LLVM)"
)


def bundle(*entries: tuple[str, bytes]) -> bytes:
    """Return an uncompressed offload bundle of clang."""
    names = b"".join(struct.pack("<QQQ", 0, 0, len(name)) + name.encode() for name, _ in entries)
    place = 24 + 8 + len(names)
    head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)), b""
    for name, data in entries:
        head += struct.pack("<QQQ", place + len(body), len(data), len(name)) + name.encode()
        body += data
    return head + body
