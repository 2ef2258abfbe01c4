"""Run one launch on the emulator in tinygrad's tests: a child of `emulator.py`, in a Python that has tinygrad's needs.

    python benchmarks/tinygrad_emulator.py CHECKOUT FOLDER

FOLDER holds kernel.co, launch.json and arrays.npz (input, weight, output: the first arguments); output.npy is written
there. Prints the processor seconds of the first launch, which has a C function compiled for each instruction (in other
processes: not counted), and of the second. Needs clang, or another program that takes its command line, as `CC`.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
import time
from pathlib import Path

import numpy as np

LDS_GRANULE_BYTES = 512
KERNARG_SEGMENT_PTR = 1 << 3


def load(image: bytes) -> tuple[ctypes.Array[ctypes.c_char], int, int, int]:
    """Return (memory, address of the entry, rsrc2, kernel code properties) of a code object with one kernel."""
    ((table,), (count,)) = struct.unpack_from("<Q", image, 32), struct.unpack_from("<H", image, 56)
    loads = [struct.unpack_from("<IIQQQQQQ", image, table + 56 * place) for place in range(count)]
    loads = [one for one in loads if one[0] == 1]
    memory = ctypes.create_string_buffer(max(one[3] + one[6] for one in loads) + 256)
    base = ctypes.addressof(memory) + 255 & ~255
    for _, _, offset, address, _, size, _, _ in loads:
        ctypes.memmove(base + address, image[offset : offset + size], size)
    sections, entries = struct.unpack_from("<Q", image, 40)[0], struct.unpack_from("<H", image, 60)[0]
    for place in range(entries):
        _, kind, _, _, offset, size, link, _, _, _ = struct.unpack_from("<IIQQQQIIQQ", image, sections + 64 * place)
        if kind == 11:  # SHT_DYNSYM
            names = struct.unpack_from("<Q", image, sections + 64 * link + 24)[0]
            for row in range(size // 24):
                name, _, _, _, address, _ = struct.unpack_from("<IBBHQQ", image, offset + 24 * row)
                if image[names + name : image.index(b"\0", names + name)].endswith(b".kd"):
                    descriptor = ctypes.string_at(base + address, 64)
                    entry = struct.unpack_from("<q", descriptor, 16)[0]
                    rsrc2, properties = struct.unpack_from("<IH", descriptor, 52)
                    return memory, base + address + entry, rsrc2, properties
    raise SystemExit("no kernel descriptor")


def main() -> None:
    checkout, folder = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path.insert(0, str(checkout))
    from test.mockgpu.amd.emu import run_asm

    launch = json.loads((folder / "launch.json").read_text())
    arrays = {name: np.ascontiguousarray(array) for name, array in np.load(folder / "arrays.npz").items()}
    _memory, entry, rsrc2, properties = load((folder / "kernel.co").read_bytes())
    if properties & 0x7F != KERNARG_SEGMENT_PTR:
        raise SystemExit("the kernel wants more than its argument segment")
    # The LDS of a workgroup is in the dispatch packet, not in the descriptor; this emulator reads it from rsrc2.
    rsrc2 |= -(-launch["lds_bytes"] // LDS_GRANULE_BYTES) << 15
    pointers = np.array([arrays[name].ctypes.data for name in ("input", "weight", "output")], np.uint64)
    arguments = np.frombuffer(pointers.tobytes() + np.array(launch["numbers"], np.int32).tobytes(), np.uint8).copy()
    times = []
    for _ in range(2):
        arrays["output"][:] = 0
        started = time.process_time()
        run_asm(entry, 0, *launch["grid"], *launch["block"], arguments.ctypes.data, rsrc2, arch="cdna")
        times.append(time.process_time() - started)
    np.save(folder / "output.npy", arrays["output"])
    source = "tinygrad, test/mockgpu/amd/emu.py"
    print(json.dumps({"first_launch_cpu_s": times[0], "second_launch_cpu_s": times[1], "source": source}))


if __name__ == "__main__":
    main()
