"""The stand-in for a GPU, for tests of devices, timing and cheats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbserver.core.paths import Roots
from tests.devices.fakehip import FakeHip, compile_library


@pytest.fixture(scope="session")
def fakehip_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_library(tmp_path_factory.mktemp("fakehip"))


@pytest.fixture
def fakehip(
    fakehip_library: Path, tmp_path_factory: pytest.TempPathFactory, roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeHip]:
    """A gfx950 device that executes on the emulator."""
    pytest.importorskip("llvmlite")
    device = FakeHip(tmp_path_factory.mktemp("rocm"), fakehip_library, roots)
    monkeypatch.setenv("ROCM_PATH", str(device.rocm))
    yield device
    device.close()
