"""Find a library that this machine may have: ROCm's libamdhip64, NVIDIA's libcuda and libnvrtc."""

from __future__ import annotations

import glob
import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LibraryPlaces:
    """Where one library may be. `roots_of` are environment variables that name an installation folder."""

    soname: str
    roots_of: tuple[str, ...]
    installed: tuple[str, ...]
    wheels: tuple[tuple[str, str], ...]
    """Python package and a pattern of folders below it."""


PLACES = {
    "hip": LibraryPlaces(
        soname="libamdhip64.so",
        roots_of=("ROCM_PATH", "HIP_PATH"),
        installed=("/opt/rocm*/lib",),
        wheels=(("torch", "lib"), ("_rocm_sdk_core", "lib")),
    ),
    "cuda": LibraryPlaces(
        soname="libcuda.so.1",
        roots_of=(),
        installed=("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64"),
        wheels=(),
    ),
    "nvrtc": LibraryPlaces(
        soname="libnvrtc.so",
        roots_of=("CUDA_HOME", "CUDA_PATH"),
        installed=("/usr/local/cuda*/lib64", "/usr/lib/x86_64-linux-gnu"),
        wheels=(("nvidia", "cu*/lib"), ("nvidia", "cuda_nvrtc/lib")),
    ),
}


def candidates(kind: str) -> Iterator[str]:
    """Yield the paths of the library in order of preference; the last entry leaves the search to the dynamic linker."""
    places = PLACES[kind]
    seen = set()
    for folder in _folders(places):
        for path in sorted(glob.glob(f"{glob.escape(folder)}/{places.soname}*"), key=_version, reverse=True):
            real = os.path.realpath(path)
            if real not in seen and os.path.isfile(real) and not real.endswith(".alt"):
                seen.add(real)
                yield path
    yield places.soname


def _version(path: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", os.path.basename(path).partition(".so")[2]))


def _folders(places: LibraryPlaces) -> Iterator[str]:
    for variable in places.roots_of:
        root = os.environ.get(variable, "").strip()
        if root:
            yield from (f"{root}/lib", f"{root}/lib64")
    yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    for pattern in places.installed:
        yield from sorted(glob.glob(pattern), reverse=True)
    for package, pattern in places.wheels:
        for base in _package_folders(package):
            yield from sorted((str(path) for path in base.glob(pattern)), reverse=True)


def _package_folders(package: str) -> list[Path]:
    """Return the folders of a Python package without importing it."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []
