"""Comparisons and imported profiles are the same object in Python, on the command line and over MCP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kbserver.core.paths import Roots
from kbserver.ops import operations
from tests.surfaces.test_three_surfaces import call_tool, run_kb, without_volatile

PROFILES = "tests/fixtures/profiles"
CALLS = [
    (
        "compile_kernel",
        {"name": "step5_sgb", "compare": "step3_nchw_lds"},
        ["compile", "--compare", "step3_nchw_lds", "step5_sgb"],
    ),
    (
        "profile_kernel",
        {"name": "step2_nhwc", "compare": "step1_naive", "threads": 1},
        ["profile", "--compare", "step1_naive", "step2_nhwc", "--threads", "1"],
    ),
    ("profile_kernel", {"from_path": PROFILES}, ["profile", "--from", PROFILES]),
]
REFS = {"before_ref", "after_ref"}


def comparable(data: Any) -> Any:
    """Leave out what differs between two equal calls; refs name runs."""
    if isinstance(data, dict):
        return {key: comparable(value) for key, value in without_volatile(data).items() if key not in REFS}
    return [comparable(item) for item in data] if isinstance(data, list) else data


@pytest.mark.parametrize(("name", "arguments", "words"), CALLS, ids=["compile", "profile", "import"])
def test_the_surfaces_agree(
    name: str, arguments: dict[str, Any], words: list[str], roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(roots.content)
    expected = comparable(operations()[name].call(arguments).to_json())
    printed = run_kb(roots, [*words, "--json"])
    assert printed.exit_code == 0
    assert comparable(json.loads(printed.stdout)) == expected
    answer = call_tool(name, arguments)
    assert not answer.is_error
    assert comparable(answer.structured_content) == expected


def test_a_path_over_mcp_is_refused_as_on_the_command_line(roots: Roots) -> None:
    for path in ("/etc/passwd", "/dev/zero", "../nothing", "a\0b"):
        answer = call_tool("profile_kernel", {"from_path": path})
        assert answer.is_error
        assert "root:" not in answer.content[0].text
