"""The structure shows the design: one-way imports, small files, every operation complete on every surface."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from kbserver.ops import operations

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kbserver"

# A layer may import itself and the layers before it; members of one layer never import each other.
LAYERS = [
    {"core"},
    {"knowledge", "hardware", "isa", "toolchain"},
    {"emulator"},
    {"devices"},
    {"runs"},
    {"journal", "claims"},
    {"ops"},
    {"render"},
    {"prompts", "resources"},
    {"server", "demo"},
    {"cli"},
    {"__main__"},
]


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_content" not in path.parts)


def part_of(dotted: str) -> str | None:
    names = dotted.split(".")
    return names[1] if len(names) > 1 else None


def imported_parts(path: Path) -> set[str]:
    parts = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "kbserver":
            parts |= {part_of(node.module)} if "." in node.module else {a.name for a in node.names}
        elif isinstance(node, ast.Import):
            parts |= {part_of(a.name) for a in node.names if a.name.split(".")[0] == "kbserver"}
    return {part for part in parts if part and part != "__version__"}


def test_imports_go_one_way() -> None:
    level = {name: number for number, names in enumerate(LAYERS) for name in names}
    wrong = []
    for path in modules():
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        for other in imported_parts(path):
            if other != own and level[other] >= level[own]:
                wrong.append(f"{path.relative_to(ROOT)} imports {other}")
    assert wrong == []


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_is_longer_than_500_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 500


def test_nothing_below_cli_and_server_prints() -> None:
    allowed = {"cli.py", "demo.py", "render/document.py"}
    printing = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in modules()
        if str(path.relative_to(PACKAGE)) not in allowed
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == []


def test_every_operation_is_complete() -> None:
    from kbserver import ops
    from kbserver.render import all as _all  # noqa: F401
    from kbserver.render.registry import _RENDERERS

    assert 9 <= len(operations()) <= 15
    for name, op in operations().items():
        assert getattr(ops, name) is op.run, f"kbserver.ops does not export {name}"
        assert name in ops.__all__
        assert op.result in _RENDERERS, f"{op.result.__name__} has no renderer"
        assert len(op.description) <= 600
        assert op.title


def test_commits_name_no_machine_and_no_registry() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not files:
        pytest.skip("not a git checkout")
    pattern = re.compile(r"(?<![\w.])/(?:work|root|tmp/v)/|index-url|find-links")
    named = []
    for name in files:
        path = ROOT / name
        if name == "tests/test_structure.py" or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        named += [f"{name}: {match.group(0)}" for match in pattern.finditer(text)]
    assert named == []
