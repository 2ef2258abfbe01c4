"""Instrumented code computes what the plain code does, and a text that is not understood is left as it is."""

from __future__ import annotations

import pytest

from kbserver.emulator.checks.instrument import instrument
from kbserver.emulator.checks.ir_text import arguments, bits_type, split
from kbserver.emulator.checks.watched import NOTHING, WatchedMachine
from tests.emulator import conv
from tests.toolchain.clang import needs_clang

pytest.importorskip("llvmlite")


@needs_clang
def test_results_and_counts_are_those_of_the_plain_machine() -> None:
    plain = conv.run("step3_nchw_lds", "gfx950")
    memory, data, grid, block, _ = conv.prepare("step3_nchw_lds")
    machine = WatchedMachine(conv.machine("step3_nchw_lds", "gfx950").kernel)
    seen = machine.watch(memory, data, grid=grid, block=block)
    assert (memory.buffers[-1].array == plain.bits).all()
    assert seen.outcome.counts.wave_instructions == plain.outcome.counts.wave_instructions
    assert len(seen.uses) == 0 and seen.lost == 0


@needs_clang
def test_a_trace_that_is_too_short_says_how_much_is_missing() -> None:
    memory, data, grid, block, _ = conv.prepare("step3_nchw_lds")
    machine = WatchedMachine(conv.machine("step3_nchw_lds", "gfx950").kernel)
    whole = machine.watch(memory, data, grid=grid, block=block, origins=NOTHING)
    machine.grow(1000)
    part = machine.watch(memory, data, grid=grid, block=block, origins=NOTHING)
    assert (len(part.trace), part.lost) == (1000, len(whole.trace) - 1000)


def test_an_operation_that_is_not_known_keeps_its_text_and_counts_as_defined() -> None:
    text = """define internal void @f(ptr %data) {
entry:
  %a = load i32, ptr %data, align 4
  %b = somethingnew i32 %a, 7
  store i32 %b, ptr %data, align 4
  ret void
}"""
    lines = [line.strip() for line in instrument(text).splitlines()]
    assert "%b = somethingnew i32 %a, 7" in lines
    assert "store i32 zeroinitializer, ptr %data.p, align 4" in lines


@pytest.mark.parametrize(
    ("line", "name", "operation"),
    [
        ("%x = add nuw i32 %a, 1", "%x", "add"),
        ("store <64 x i32> %a, ptr %p, align 64", None, "store"),
        ("br i1 %c, label %a, label %b", None, "br"),
    ],
)
def test_a_line_is_split_into_name_and_operation(line: str, name: str | None, operation: str) -> None:
    assert split(line)[:2] == (name, operation)


def test_operands_keep_their_brackets() -> None:
    found = arguments("<64 x i32> splat (i32 7), ptr align 8 %p, i64 -1, <2 x i32> <i32 1, i32 2>")
    assert [(one.type, one.text) for one in found] == [
        ("<64 x i32>", "splat (i32 7)"),
        ("ptr", "%p"),
        ("i64", "-1"),
        ("<2 x i32>", "<i32 1, i32 2>"),
    ]


@pytest.mark.parametrize(
    ("type_", "mask"),
    [("float", "i32"), ("<64 x half>", "<64 x i16>"), ("i1", "i1"), ("ptr", None), ("{ i32, i1 }", None)],
)
def test_a_mask_has_the_bits_of_its_value(type_: str, mask: str | None) -> None:
    assert bits_type(type_) == mask
