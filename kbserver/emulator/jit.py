"""LLVM IR text to host code: optimise for this CPU, emit an object, cache it, link it into the process."""

from __future__ import annotations

import ctypes
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from kbserver.core.errors import Unavailable
from kbserver.core.store import write_atomic

REQUIRED_FEATURES = ("avx2", "fma", "f16c")
# Pinned: LLVM changes its textual IR between releases, and only these were run.
TESTED_LLVMLITE = "0.50"
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class HostCode:
    """A linked module; both functions release the GIL.

    run(launch, first, last) executes workgroups [first, last); kernel(v, s, lds, context, state) runs one wavefront
    until a barrier or its end.
    """

    run: Any
    kernel: Any
    compile_s: float
    cached: bool
    object_bytes: int
    _library: Any
    symbols: Mapping[str, int] = field(default_factory=dict)
    """Addresses of the other exported names."""


@lru_cache(maxsize=1)
def _host() -> tuple[Any, str, str]:
    """Return (llvmlite binding, CPU name, feature string). Raises Unavailable when this machine cannot execute."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise Unavailable(
            "executing kernels on the CPU needs llvmlite, which is not installed",
            hint="pip install 'kbserver[emulate]'",
        ) from None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    missing = [name for name in REQUIRED_FEATURES if not features.get(name)]
    if missing:
        # Without F16C the generated code calls a conversion routine that no library here has, and the process aborts.
        raise Unavailable(
            f"executing kernels needs a CPU with {', '.join(REQUIRED_FEATURES).upper()}; "
            f"this one lacks {', '.join(missing).upper()}",
            hint="use another machine: x86-64-v3 or newer",
        )
    return llvm, llvm.get_host_cpu_name(), features.flatten()


def check_host() -> str:
    """Return the CPU and the vector width that will be used. Raises Unavailable with the reason."""
    _, cpu, features = _host()
    return f"{cpu} ({'AVX-512' if '+avx512f' in features else 'AVX2'})"


def _machine(llvm: Any, cpu: str, features: str, level: int) -> Any:
    # Wide registers halve the instruction count; LLVM prefers 256 bits on some CPUs that have 512.
    wide = features.replace("+prefer-256-bit", "-prefer-256-bit")
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=wide, opt=level, jit=True)


_lock = threading.Lock()
_loaded: OrderedDict[str, HostCode] = OrderedDict()
_LOADED_LIMIT = 32


def forget_loaded() -> None:
    """Drop the modules of this process; those in use live on with their machines."""
    with _lock:
        _loaded.clear()


def compile_ir(
    ir: str, cache: Path | None, *, quick: bool = False, exports: Sequence[str] = (),
    finish: tuple[str, Callable[[str], str]] | None = None,
) -> HostCode:  # fmt: skip
    """Return the host code of a module; `cache` is the folder of compiled objects, None to keep none.

    quick: compile without optimising, for code that runs little. exports: names of the module to find besides its two
    functions. finish: (version, function) that turns the text into what is compiled, when it must be compiled.
    """
    llvm, cpu, features = _host()
    words = (
        llvm.llvm_version_info.__repr__(),
        cpu,
        features,
        ir,
        *(["quick"] if quick else []),
        *(finish[:1] if finish else ()),
    )
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()
    with _lock:
        if key in _loaded:
            return _loaded[key]
        started = time.monotonic()
        path = cache / "emulator" / f"{key[:40]}.o" if cache is not None else None
        image = _read_object(path) if path is not None else None
        cached = image is not None
        if image is None:
            image = _emit(llvm, finish[1](ir) if finish else ir, cpu, features, quick)
            if path is not None:
                write_atomic(path, hashlib.sha256(image).digest() + image)
        code = _link(llvm, image, key, started, cached, exports)
        _loaded[key] = code
        while len(_loaded) > _LOADED_LIMIT:
            _loaded.popitem(last=False)
        return code


def _read_object(path: Path) -> bytes | None:
    """Return a cached object, None when there is none or it is damaged: LLVM aborts the process on a bad object."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    image = data[_DIGEST_BYTES:]
    return image if hashlib.sha256(image).digest() == data[:_DIGEST_BYTES] else None


def _emit(llvm: Any, ir: str, cpu: str, features: str, quick: bool) -> bytes:
    machine = _machine(llvm, cpu, features, 0 if quick else 2)
    module = llvm.parse_assembly(ir)
    module.verify()
    if quick:
        return bytes(machine.emit_object(module))
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def _link(llvm: Any, image: bytes, key: str, started: float, cached: bool, exports: Sequence[str]) -> HostCode:
    jit = llvm.create_lljit_compiler()
    builder = llvm.JITLibraryBuilder()
    builder.add_object_img(image)
    builder.add_current_process()
    for name in ("run", "kernel", *exports):
        builder.export_symbol(name)
    library = builder.link(jit, f"kernel_{key[:16]}")
    # Python finds the function by address; ctypes releases the GIL for the time of the call.
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)(library["run"])
    kernel = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4, ctypes.c_int32)(library["kernel"])
    symbols = {name: library[name] for name in exports}
    return HostCode(run, kernel, time.monotonic() - started, cached, len(image), (jit, library), symbols)
