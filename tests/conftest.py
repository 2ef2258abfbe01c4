"""Fixtures of all tests: every test gets a workspace of its own, so that none sees or leaves anything behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbserver.core.paths import Roots, use_roots

pytest_plugins = ["tests.devices.gpu_fixtures"]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def roots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roots]:
    """Work on this checkout's content and on a fresh workspace."""
    workspace = tmp_path_factory.mktemp("workspace")
    with use_roots(Roots(ROOT, workspace, "the tests' checkout")) as found:
        yield found


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded real-world inputs beside the checkout; tests that need it skip loudly without it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("SKIPPED LOUDLY: the folder of recorded inputs (../shared/data) is not beside this checkout")
    return folder
