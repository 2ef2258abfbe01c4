"""Code objects inside clang's offload bundles: what `hipcc --genco`, `-c` and fat host programs carry."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kbserver.core.errors import UsageError
from kbserver.toolchain.elf import is_gpu_elf, read_code_object

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"
_FATBIN_SECTION = b".hip_fatbin\0"
_MAX_ENTRIES = 256


def gpu_images(data: bytes, where: str) -> dict[str, bytes]:
    """Return target -> linked code object of a file that is one, or holds some.

    Raises UsageError for a file without any, a compressed bundle, and a damaged one.
    """
    if is_gpu_elf(data):
        return {read_code_object(data, where).target: data}
    start = data.find(MAGIC)
    if start < 0:
        if data.startswith(COMPRESSED) or (_FATBIN_SECTION in data and COMPRESSED in data):
            raise UsageError(
                "the offload bundle is compressed",
                where=where,
                hint="build with --no-offload-compress, or unpack it: clang-offload-bundler --unbundle --type=o",
            )
        raise UsageError("this is no code object of an AMD GPU and no offload bundle of clang", where=where)
    images: dict[str, bytes] = {}
    while start >= 0:
        try:
            entries = list(_entries(data, start))
        except (struct.error, UnicodeDecodeError, OverflowError) as error:
            raise UsageError(f"the offload bundle is damaged: {error}", where=where) from None
        for offset, size in entries:
            if start + offset + size > len(data):
                raise UsageError("the offload bundle is cut: an entry lies past its end", where=where)
            image = data[start + offset : start + offset + size]
            if is_gpu_elf(image):
                images.setdefault(read_code_object(image, where).target, image)
        start = data.find(MAGIC, start + len(MAGIC))
    if not images:
        raise UsageError("the offload bundle holds no code object of an AMD GPU", where=where)
    return images


def _entries(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Yield (offset from the bundle's start, size in bytes) of each entry for AMD GPUs."""
    place = start + len(MAGIC)
    (count,) = struct.unpack_from("<Q", data, place)
    place += 8
    for _ in range(min(count, _MAX_ENTRIES)):
        offset, size, length = struct.unpack_from("<QQQ", data, place)
        (name,) = struct.unpack_from(f"<{min(length, 4096)}s", data, place + 24)
        place += 24 + length
        if b"amdgcn" in name:
            yield offset, size
