"""Values as people read them, exact where a rounded form would lose something."""

from __future__ import annotations

import pytest

from kbserver.hardware.units import full, short


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (163840, "B", "160 KiB"),
        (65536, "B", "64 KiB"),
        (12800, "B", "12.5 KiB"),
        (1280, "B", "1280 B"),
        (512, "B", "512 B"),
        (0, "B", "0 B"),
        (268435456, "B", "256 MiB"),
        (309220868096, "B", "294,896 MiB"),
        (309237645312, "B", "288 GiB"),
        (5.3, "TB/s", "5.3 TB/s"),
        (8.0, "TB/s", "8 TB/s"),
        (10066.3, "TFLOPS", "10,066.3 TFLOPS"),
        (64, "banks", "64 banks"),
        (1, "phases", "1 phase"),
        (96.875, "percent", "96.875 %"),
        (1.42, "x", "1.42x"),
        ("0x740f", "PCI id", "0x740f"),
        (True, None, "yes"),
        (False, None, "no"),
        (None, "TB/s", "unknown"),
        ("workgroup", None, "workgroup"),
        (["vmcnt", "lgkmcnt"], None, "vmcnt; lgkmcnt"),
        ({"valu": 6, "memory": 9}, "wait states", "valu: 6, memory: 9 (wait states)"),
    ],
)
def test_value_and_unit_in_prose(value: object, unit: str | None, text: str) -> None:
    assert short(value, unit) == text


def test_the_full_form_adds_the_exact_bytes() -> None:
    assert full(163840, "B") == "160 KiB (163,840 B)"
    assert full(1280, "B") == "1280 B"
    assert full(8.0, "TB/s") == "8 TB/s"
