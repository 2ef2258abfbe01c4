"""Fixtures of all tests: every test gets a workspace of its own, so that none sees or leaves anything behind.

Only the cache is one for the whole run: what lies in it is found by the hash of its content, and compiling every
kernel anew for every test takes longer than all tests do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbserver.core.paths import Roots, use_roots

pytest_plugins = ["tests.devices.gpu_fixtures"]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def run_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of this run; the processes of one run share it."""
    base = tmp_path_factory.getbasetemp()
    cache = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "cache-of-the-run"
    cache.mkdir(exist_ok=True)
    return cache


@pytest.fixture(autouse=True)
def roots(tmp_path_factory: pytest.TempPathFactory, run_cache: Path) -> Iterator[Roots]:
    """Work on this checkout's content and on a fresh workspace."""
    workspace = tmp_path_factory.mktemp("workspace")
    (workspace / "cache").symlink_to(run_cache, target_is_directory=True)
    with use_roots(Roots(ROOT, workspace, "the tests' checkout")) as found:
        yield found


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded real-world inputs beside the checkout; tests that need it skip loudly without it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("SKIPPED LOUDLY: the folder of recorded inputs (../shared/data) is not beside this checkout")
    return folder
