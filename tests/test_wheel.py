"""A built wheel in an empty environment answers the same as the checkout: content, kernels and headers ship in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kbserver.ops import knowledge_map, search

ROOT = Path(__file__).resolve().parent.parent
QUERY = "LDS size of one workgroup on MI355X"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, install it alone in a new environment, and return that environment's `kb`."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "env"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True, timeout=300)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=600)
    return environment / "bin" / "kb"


def kb(program: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("KB_", "PYTHON"))}
    environment |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [str(program), *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_installed_wheel_gives_the_checkouts_answers(installed: Path, tmp_path: Path) -> None:
    found = json.loads(kb(installed, tmp_path, "search", QUERY, "--json").stdout)
    assert found["hits"] == search(query=QUERY).to_json()["hits"]
    mapped = json.loads(kb(installed, tmp_path, "map", "--json").stdout)
    assert mapped["topics"] == knowledge_map().to_json()["topics"]
    kernel = json.loads(kb(installed, tmp_path, "read", "kernel:transpose", "--json").stdout)
    assert kernel["ref"] == "kernel:transpose_swizzled" and "ds_read_b64_tr_b16" in kernel["text"]


def test_without_a_compiler_compile_says_what_to_install(installed: Path, tmp_path: Path) -> None:
    answer = kb(installed, tmp_path, "compile", "step1_naive", "--json")
    assert answer.returncode == 3
    error = json.loads(answer.stdout)["error"]
    assert error["code"] == "no_compiler"
    assert "kbserver[compile]" in error["hint"]


def test_lessons_of_an_installed_copy_go_to_the_user_data_folder(installed: Path, tmp_path: Path) -> None:
    added = kb(installed, tmp_path, "lesson", "add", "--title", "A first note", "--body", "Something seen.", "--json")
    assert added.returncode == 0, added.stdout + added.stderr
    assert json.loads(added.stdout)["path"].startswith(str(tmp_path / "data"))
    found = json.loads(kb(installed, tmp_path, "search", "a first note", "--kind", "lesson", "--json").stdout)
    assert found["hits"][0]["title"] == "[unverified] A first note"


def test_the_base_install_has_no_compiler_and_no_torch(installed: Path) -> None:
    packages = {path.name.split("-")[0] for path in installed.parent.parent.rglob("*.dist-info")}
    assert not packages & {"ziglang", "torch", "llvmlite"}
