"""`kb demo`, which demo.sh runs after the installation, holds what it promises on the content of the moment."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_the_demo_passes_and_finds_the_lesson_that_it_recorded() -> None:
    pytest.importorskip("llvmlite")
    done = subprocess.run(
        [sys.executable, "-m", "kbserver", "demo"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "PASS: kernel:step5_sgb" in done.stdout
    assert "The lesson that was just recorded is the first hit." in done.stdout
