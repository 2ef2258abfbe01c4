"""The page on one's own kernel shows the files of its example, whole."""

from __future__ import annotations

import re
from pathlib import Path

from kbserver.runs.dtypes import DTYPES
from kbserver.runs.problem import FILLS, ROLES

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "your_own_kernel.md").read_text("utf-8")
EXAMPLE = ROOT / "docs" / "examples" / "swiglu"


def test_the_listings_are_the_files() -> None:
    listings = re.findall(r"^```(python|yaml)\n(.*?)^```$", PAGE, flags=re.M | re.S)
    files = {"python": "reference.py", "yaml": "task.yaml"}
    assert [language for language, _ in listings] == ["python", "yaml"]
    for language, text in listings:
        assert text == (EXAMPLE / files[language]).read_text("utf-8")


def test_every_role_fill_and_float_format_is_named() -> None:
    floats = {name.removesuffix("_fnuz") for name, one in DTYPES.items() if not one.is_integer}
    assert [name for name in (*ROLES, *FILLS, *floats) if name not in PAGE] == []
