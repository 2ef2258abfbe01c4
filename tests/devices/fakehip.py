"""A GPU for tests: a library with libamdhip64's C ABI whose launches this process executes on the emulator.

What is tested is everything up to the C ABI: finding the library, ctypes, code objects, argument blocks, streams,
events, errors. Durations are what `duration` says, so that comparisons have a known answer.
"""

from __future__ import annotations

import mmap
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kbserver.core.paths import Roots, use_roots
from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Buffer, Memory
from kbserver.toolchain.assembly import parse_assembly
from kbserver.toolchain.link import code_object

SOURCE = Path(__file__).resolve().parent.parent / "fixtures" / "fakehip" / "fakehip.c"
LAUNCH_FAILURE = 719
Tamper = Callable[[int, list[np.ndarray], Callable[[], int]], int]
"""(number of the launch, bytes from each pointer argument to the end of its allocation, execute) -> status. Stands for
a kernel with a memory of its own, which the emulator does not execute."""
Duration = Callable[[str, int], float]
"""(entry, number of the launch) -> milliseconds."""


def compile_library(folder: Path) -> Path:
    """Compile the library; skips the test where there is no C compiler."""
    target = folder / "lib" / "libamdhip64.so"
    target.parent.mkdir(parents=True)
    own = shutil.which("cc")
    compiler = [own] if own else [sys.executable, "-m", "ziglang", "cc"]
    argv = [*compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(target), str(SOURCE), "-ldl"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"SKIPPED LOUDLY: no C compiler for the stand-in library: {done.stderr[-200:]}")
    return target


class FakeHip:
    """The stand-in, ready to be found through ROCM_PATH."""

    def __init__(self, folder: Path, library: Path, roots: Roots) -> None:
        self.rocm = folder
        (folder / "lib").mkdir(parents=True, exist_ok=True)
        shutil.copy(library, folder / "lib" / "libamdhip64.so")
        self._roots = roots
        self.settings = {"arch": "gfx950:sramecc+:xnack-", "name": "AMD Instinct MI355X", "mode": "ok"}
        self.duration: Duration = lambda entry, number: 1.0
        self.order = "forward"
        self.tamper: Tamper | None = None
        self.launches: list[str] = []
        self.faults: list[str] = []
        self._machines: dict[tuple[bytes, str], Machine] = {}
        self._listener = socket.socket(socket.AF_UNIX)
        # A socket's path is short: the folder of a test may be too deep for it.
        self._socket = f"/tmp/fakehip-{id(self):x}.sock"
        Path(self._socket).unlink(missing_ok=True)
        self._listener.bind(self._socket)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        self.configure()

    def configure(self, **settings: str) -> None:
        """Change what the device is, or how it fails."""
        self.settings.update(settings)
        lines = [f"{key} {value}" for key, value in {**self.settings, "socket": self._socket}.items()]
        (self.rocm / "lib" / "fakehip.conf").write_text("\n".join(lines) + "\n")

    def close(self) -> None:
        self._listener.close()
        Path(self._socket).unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                channel, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(channel,), daemon=True).start()

    def _serve(self, channel: socket.socket) -> None:
        with channel, channel.makefile("rb") as reader, use_roots(self._roots):
            while head := reader.read(40):
                numbers = struct.unpack("<10I", head)
                (size,) = struct.unpack("<I", reader.read(4))
                entry = reader.read(size).decode()
                block = reader.read(numbers[8])
                table = [struct.unpack("<QQ", reader.read(16)) for _ in range(numbers[9])]
                status = self._execute(numbers, entry, block, table)
                ms = self.duration(entry, len(self.launches))
                self.launches.append(entry)
                channel.sendall(struct.pack("<iid", status, 0, ms))

    def _execute(self, numbers: tuple[int, ...], entry: str, block: bytes, table: list[tuple[int, int]]) -> int:
        machine = self._machine((self.rocm / "lib" / f"module.{numbers[0]}").read_bytes(), entry)
        files = [open(self.rocm / "lib" / f"memory.{number}", "r+b") for number in range(len(table))]  # noqa: SIM115
        maps = [mmap.mmap(file.fileno(), size) for file, (_, size) in zip(files, table, strict=True)]
        wholes = [np.frombuffer(one, np.uint8) for one in maps]
        buffers = [Buffer(f"b{n}", whole, whole.ctypes.data, True, whole) for n, whole in enumerate(wholes)]
        arguments, pointers = [], []
        for entry_of in machine.kernel.arguments:
            if str(entry_of["value_kind"]).startswith("hidden_"):
                continue
            at, size = int(entry_of["offset"]), int(entry_of["size"])
            raw = block[at : at + size]
            if entry_of["value_kind"] == "global_buffer":
                raw = _translated(raw, table, buffers)
                pointers.append(_behind(raw, buffers))
            arguments.append(raw)

        def execute() -> int:
            outcome = machine.launch(Memory(buffers), arguments, grid=numbers[1:4], block=numbers[4:7],
                                     dynamic_lds_bytes=numbers[7], order=self.order)  # fmt: skip
            self.faults += [finding.kind for finding in outcome.findings]
            return LAUNCH_FAILURE if outcome.findings else 0

        try:
            return self.tamper(len(self.launches), pointers, execute) if self.tamper else execute()
        finally:
            for file in files:
                file.close()

    def _machine(self, image: bytes, entry: str) -> Machine:
        if (image, entry) not in self._machines:
            text = self._assembly_of(image)
            kernel = load_kernel(parse_assembly(text), entry, self.settings["arch"].split(":")[0])
            self._machines[image, entry] = Machine(kernel, cache=self._roots.cache)
        return self._machines[image, entry]

    def _assembly_of(self, image: bytes) -> str:
        """Return the text that the code object was made from: of this workspace's builds, the one that gives it."""
        arch = self.settings["arch"].split(":")[0]
        for path in self._roots.builds.glob("*/kernel.s"):
            text = path.read_text()
            if f"amdhsa--{arch}" in text and code_object(text, arch) == image:
                return text
        raise AssertionError("a code object that no build of this workspace gives")


def _behind(raw: bytes, buffers: list[Buffer]) -> np.ndarray:
    """Return the bytes from an address to the end of its allocation."""
    (address,) = struct.unpack("<Q", raw)
    found = next(one for one in buffers if one.address <= address < one.address + one.nbytes)
    return found.array[address - found.address :]


def _translated(raw: bytes, table: list[tuple[int, int]], buffers: list[Buffer]) -> bytes:
    """Return a pointer of the worker's process as one of ours."""
    (address,) = struct.unpack("<Q", raw)
    for (base, size), buffer in zip(table, buffers, strict=True):
        if base <= address < base + size:
            return struct.pack("<Q", buffer.address + address - base)
    raise AssertionError(f"a pointer to no allocation: {address:#x}")
