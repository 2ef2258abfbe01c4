"""What nobody wrote is reported where it reaches memory, an address, a branch or EXEC, and nowhere else."""

from __future__ import annotations

import pytest

from tests.emulator.checks.launch import checked, found
from tests.toolchain.clang import needs_clang

pytest.importorskip("llvmlite")
pytestmark = needs_clang

UNSET = 'int unset; asm volatile("v_mov_b32 %0, v90" : "=v"(unset)::"v90");'
ZERO = 'int zero; asm volatile("v_mov_b32 %0, 0" : "=v"(zero));'


def only(body: str) -> str:
    """Return the message of the one finding, which is about an uninitialised read."""
    (finding,) = checked(body).findings
    assert (finding.kind, finding.severity) == ("uninitialised read", "error")
    return finding.message


def test_a_stored_value_that_depends_on_an_unwritten_register_names_both() -> None:
    message = only(f"{UNSET} out[index] = in[thread] + (float)unset * 0.0f;")
    assert "global_store_dword" in message and "stores a value that depends on v90" in message
    assert "first named by `v_mov_b32 v" in message


def test_lds_that_nobody_wrote_is_named_by_its_byte_and_its_reader() -> None:
    body = """__shared__ float t[130]; t[thread + 1] = in[thread]; __syncthreads();
    out[index] = t[thread] * (thread ? 1.0f : 0.0f) + t[thread + 1];"""
    message = only(body)
    assert "LDS byte 0, read by `ds_read" in message and "nobody wrote in this workgroup" in message


def test_lds_of_the_workgroup_before_does_not_count_as_written() -> None:
    body = f"""__shared__ volatile int t[128]; {ZERO} const int x = t[thread]; t[thread] = 1;
    out[index] = (float)(x * zero);"""
    (finding,) = checked(body).findings
    assert finding.count >= 2, "in both workgroups"


def test_an_address_from_an_unwritten_register_is_found_though_the_load_stays_in_range() -> None:
    assert "takes an address" in only(f"{UNSET} out[index] = in[unset & 127] * 0;").replace("or the choice", "")


def test_a_branch_on_an_unwritten_scalar_is_found() -> None:
    body = """int unset; asm volatile("s_mov_b32 %0, s90" : "=s"(unset)::"s90");
    if (unset > 3) asm volatile("s_nop 0"); out[index] = in[thread];"""
    message = only(body)
    assert "branches on s90" in message


def test_exec_from_an_unwritten_register_is_found() -> None:
    assert "sets EXEC from v90" in only(f'{UNSET} if (unset > 3) asm volatile("s_nop 0"); out[index] = in[thread];')


def test_private_memory_that_nobody_wrote_is_found() -> None:
    body = f"""volatile int a[64]; {ZERO} a[thread & 31] = 1;
    out[index] = (float)(a[(thread & 31) + 1] * zero);"""
    assert "private memory that nobody wrote" in only(body)


@pytest.mark.parametrize(
    "harmless",
    [
        "unset & 0",
        "(unset | 0xffff0000) >> 16",
        "(unset << 16) >> 16 << 16 & 0xffff",
        "__builtin_amdgcn_perm(unset, thread, 0x03020100)",
        "thread & 64 ? 1 : (unset, 2)",
    ],
)
def test_bits_that_are_masked_off_are_no_use(harmless: str) -> None:
    assert found(f"{UNSET} out[index] = (float)({harmless});") == set()


def test_lanes_that_are_off_may_hold_anything() -> None:
    body = """float x; if (thread & 1) x = in[thread]; if (thread & 1) out[index] = x * 2; else out[index] = 1;"""
    assert found(body) == set()


def test_a_half_that_is_dropped_after_a_packed_conversion_is_no_use() -> None:
    body = """unsigned pair; asm volatile("v_cvt_pk_bf16_f32 %0, %1, s90" : "=v"(pair) : "v"(in[thread]) : "s90");
    ((unsigned short *)out)[index] = (unsigned short)pair;"""
    assert found(body) == set()
    both = body.replace("((unsigned short *)out)[index] = (unsigned short)pair;", "((unsigned *)out)[index] = pair;")
    assert found(both) == {("uninitialised read", "error")}


def test_a_matrix_operation_spreads_what_it_reads() -> None:
    body = """typedef float f4 __attribute__((ext_vector_type(4))); f4 acc = {0, 0, 0, 0}; float a = in[thread];
    if (thread & 64) {SET} acc = __builtin_amdgcn_mfma_f32_16x16x4f32(a, a, acc, 0, 0, 0);
    out[index] = acc[0] + acc[1] + acc[2] + acc[3];"""
    unset = 'asm volatile("v_mov_b32 %0, v90" : "=v"(a)::"v90");'
    assert found(body.replace("SET", "a = 1;")) == set()
    assert found(body.replace("{SET}", unset)) == {("uninitialised read", "error")}
