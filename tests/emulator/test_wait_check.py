"""The wait check: what the counters prove, by the ISA documents' rules, on small hand-written kernels."""

from __future__ import annotations

import pytest

from kbserver.emulator.wait_check import missing_waits
from tests.emulator.harness import load


def found(body: str) -> list[tuple[str, str, str]]:
    """Return (use, load, counter) of every finding."""
    kernel = load(body)
    text = [" ".join(d.instruction.text.split()) for d in kernel.code]
    return [(text[use.site], text[use.loader], use.counter) for use in missing_waits(kernel)]


READ = "ds_read_b32 v1, v0"
SECOND = "ds_read_b32 v2, v0 offset:4"
USE = "v_add_u32_e32 v3, v1, v1"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{READ}\n{USE}", [(USE, READ, "lgkmcnt")]),
        (f"{READ}\ns_waitcnt lgkmcnt(0)\n{USE}", []),
        (f"{READ}\ns_waitcnt vmcnt(0)\n{USE}", [(USE, READ, "lgkmcnt")]),
        # In order: with one younger operation, lgkmcnt(1) proves the first and not the second.
        (f"{READ}\n{SECOND}\ns_waitcnt lgkmcnt(1)\n{USE}", []),
        (f"{SECOND}\n{READ}\ns_waitcnt lgkmcnt(1)\n{USE}", [(USE, READ, "lgkmcnt")]),
        # A write to the register of a load under way is as wrong as a read.
        (f"{READ}\nv_mov_b32_e32 v1, 0", [("v_mov_b32_e32 v1, 0", READ, "lgkmcnt")]),
        # The address register may be overwritten: it was read when the load was issued.
        (f"{READ}\nv_mov_b32_e32 v0, 0", []),
    ],
)
def test_lds_reads_return_in_order(body: str, expected: list[tuple[str, str, str]]) -> None:
    assert found(body) == expected


def test_a_scalar_load_under_way_makes_partial_waits_worthless() -> None:
    scalar = "s_load_dword s4, s[0:1], 0x0"
    assert found(f"{READ}\n{scalar}\ns_waitcnt lgkmcnt(1)\n{USE}") == [(USE, READ, "lgkmcnt")]
    assert found(f"{READ}\n{scalar}\ns_waitcnt lgkmcnt(0)\n{USE}") == []


def test_vector_memory_counts_apart_from_lds() -> None:
    load_line = "global_load_dword v1, v[4:5], off"
    assert found(f"{load_line}\n{SECOND}\ns_waitcnt lgkmcnt(0)\n{USE}") == [(USE, load_line, "vmcnt")]
    assert found(f"{load_line}\nglobal_store_dword v[4:5], v6, off\ns_waitcnt vmcnt(1)\n{USE}") == []


def test_one_path_without_a_wait_is_enough() -> None:
    body = f"{READ}\ns_cbranch_scc0 .Lskip\ns_waitcnt lgkmcnt(0)\n.Lskip:\n{USE}"
    assert found(body) == [(USE, READ, "lgkmcnt")]


def test_a_wait_at_the_end_of_a_loop_covers_the_next_turn() -> None:
    loop = f".Ltop:\n{READ}\n%s\n{USE}\ns_cbranch_scc1 .Ltop"
    assert found(loop % "s_waitcnt lgkmcnt(0)") == []
    assert found(loop % "s_nop 0") == [(USE, READ, "lgkmcnt")]


DIRECT = "global_load_lds_dword v[4:5], off"


@pytest.mark.parametrize(
    ("between", "reported"),
    [
        ("s_waitcnt vmcnt(0)\ns_barrier", False),
        ("s_barrier", True),
        # Waiting after the barrier tells this wavefront only; the others' loads may still be under way.
        ("s_barrier\ns_waitcnt vmcnt(0)", True),
        ("s_barrier\ns_waitcnt vmcnt(0)\ns_barrier", False),
        ("s_nop 0", True),
    ],
)
def test_a_direct_load_into_lds_needs_a_wait_and_then_a_barrier(between: str, reported: bool) -> None:
    assert found(f"{DIRECT}\n{between}\n{READ}") == ([(READ, DIRECT, "vmcnt")] if reported else [])


def test_a_read_of_lds_before_any_direct_load_has_arrived_is_a_certain_fault() -> None:
    assert [use.certain for use in missing_waits(load(f"{DIRECT}\n{READ}\ns_waitcnt lgkmcnt(0)"))] == [True]


def test_a_peeled_pipeline_over_two_buffers_is_no_certain_fault() -> None:
    """The first load has arrived, and the read may mean its bytes: the form of a fault and of a correct kernel."""
    body = f"{DIRECT}\ns_waitcnt vmcnt(0)\ns_barrier\n{DIRECT}\n{READ}\ns_waitcnt lgkmcnt(0)"
    assert [use.certain for use in missing_waits(load(body))] == [False]


def test_a_pipeline_over_two_buffers_is_left_alone() -> None:
    body = (
        f"{DIRECT}\n.Ltop:\ns_waitcnt vmcnt(0)\ns_barrier\n{DIRECT}\n{READ}\ns_waitcnt lgkmcnt(0)\ns_cbranch_scc1 .Ltop"
    )
    assert found(body) == []


def test_a_bare_number_is_the_encoded_field() -> None:
    assert found(f"{READ}\ns_waitcnt 0\n{USE}") == []
