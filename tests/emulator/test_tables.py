"""The tables are complete: each instruction of one value has a rule, and the oracle knows nothing of the translator."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kbserver.emulator.oracle as oracle
from kbserver.emulator.oracle import rules
from kbserver.emulator.oracle.special import steps
from kbserver.emulator.rows import Flow, Scalar, Special, merged, scalar
from kbserver.emulator.semantics import table
from kbserver.emulator.vector_rows import Lane, Packed

# Their result depends on the lane's number; test_crosslane.py has their expectations.
_TESTED_BY_HAND = {"v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"}


def test_every_row_of_one_value_has_a_rule_of_the_oracle() -> None:
    computed = {name for name, row in table().items() if isinstance(row, (Scalar, Lane, Packed))}
    assert computed - rules().keys() == _TESTED_BY_HAND


def test_every_rule_has_a_row() -> None:
    assert rules().keys() - table().keys() == set()


def test_every_row_is_of_a_known_kind() -> None:
    assert {type(row) for row in table().values()} == {Scalar, Lane, Packed, Special, Flow}


def test_the_oracle_does_not_import_the_translator() -> None:
    found = []
    for path in sorted(Path(oracle.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found += [
                (path.name, name) for name in names if name.endswith((".semantics", ".translate", ".ir", "_rows"))
            ]
            found += [(path.name, name) for name in names if ".semantics." in name]
    assert found == []


def test_two_families_cannot_define_one_mnemonic() -> None:
    row = scalar("b32 = b32", lambda x: x)
    with pytest.raises(ValueError, match="defined twice: s_mov_b32"):
        merged({"s_mov_b32": row}, {"s_mov_b32": row})


def test_every_memory_row_has_a_step_of_the_oracle() -> None:
    memory = ("ds_", "global_", "buffer_load", "buffer_store", "buffer_atomic")
    rows = {name for name, row in table().items() if isinstance(row, Special) and name.startswith(memory)}
    assert rows - steps().keys() == set()
