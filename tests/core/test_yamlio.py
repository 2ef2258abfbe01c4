"""YAML as a reader sees it: no scalar changes its type, no key is lost, every fault names file and line."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from kbserver.core.errors import ContentError
from kbserver.core.yamlio import MAX_YAML_BYTES, load_yaml, parse_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"),
        ("no", "no"),
        ("Off", "Off"),
        ("yes", "yes"),
        ("2024-01-02", "2024-01-02"),
        ("010", "010"),
        ("0o17", "0o17"),
        ("12:30:45", "12:30:45"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("v1.2.3", "v1.2.3"),
        ("=", "="),
    ],
)
def test_scalars_that_other_readers_convert_stay_text(text: str, value: str) -> None:
    found = parse_yaml(f"v: {text}", "x.yaml")["v"]

    assert found == value
    assert type(found) is str


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("163840", 163840),
        ("-5", -5),
        ("0", 0),
        ("0x740f", 29711),
        ("5.3", 5.3),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
    ],
)
def test_numbers_booleans_and_null_are_typed(text: str, value: object) -> None:
    found = parse_yaml(f"v: {text}", "x.yaml")["v"]

    assert found == value
    assert type(found) is type(value)


def test_nothing_becomes_a_date_that_json_cannot_hold() -> None:
    data = parse_yaml("- 2024-01-02\n- 2024-01-02T10:00:00Z\n", "x.yaml")

    assert data == ["2024-01-02", "2024-01-02T10:00:00Z"]
    assert not any(isinstance(item, datetime.date) for item in data)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\na: 2\n", 2),
        ("top:\n  b: 1\n  c: 2\n  b: 3\n", 4),
        ("a: 1\nb:\n\tc: 2\n", 3),
        ("a: 1\nv: @x\n", 2),
        ("a: [1, 2\n", 2),
        ("a: 1\n? [x, y]\n: 2\n", 2),
    ],
    ids=["duplicate", "duplicate below", "tab", "reserved character", "open bracket", "key that is a list"],
)
def test_faults_name_file_and_line(text: str, line: int) -> None:
    with pytest.raises(ContentError) as caught:
        parse_yaml(text, "facts/x.yaml")

    assert caught.value.where == f"facts/x.yaml:{line}"


def test_one_and_true_are_different_keys_only_when_written_differently() -> None:
    with pytest.raises(ContentError, match="duplicate key"):
        parse_yaml("1: a\n1: b\n", "x.yaml")


def test_a_byte_order_mark_and_crlf_change_nothing(tmp_path: Path) -> None:
    plain, marked = tmp_path / "plain.yaml", tmp_path / "marked.yaml"
    plain.write_bytes(b"facts:\n  a: 1\n")
    marked.write_bytes(b"\xef\xbb\xbffacts:\r\n  a: 1\r\n")

    assert load_yaml(marked) == load_yaml(plain) == {"facts": {"a": 1}}


def test_aliases_are_refused_so_that_no_file_can_multiply_itself() -> None:
    with pytest.raises(ContentError, match="aliases"):
        parse_yaml("a: &x [1]\nb: [*x, *x]\n", "x.yaml")


def test_python_objects_are_not_built() -> None:
    with pytest.raises(ContentError):
        parse_yaml("a: !!python/object/apply:os.getcwd []\n", "x.yaml")


def test_a_file_above_the_limit_is_refused() -> None:
    with pytest.raises(ContentError, match="larger"):
        parse_yaml("a: " + "x" * MAX_YAML_BYTES, "x.yaml")


def test_a_file_that_is_not_utf8_names_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"name: caf\xe9\n")

    with pytest.raises(ContentError, match="byte 9"):
        load_yaml(path)


def test_a_missing_file_is_a_content_error(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match="cannot read"):
        load_yaml(tmp_path / "none.yaml")
