"""Unordered accesses are found whatever the results are; ordered ones are not."""

from __future__ import annotations

import pytest

from tests.emulator.checks.launch import checked, found
from tests.toolchain.clang import needs_clang

pytest.importorskip("llvmlite")
pytestmark = needs_clang

ERROR, NOTE = "error", "note"


def test_a_read_of_what_another_wavefront_writes_before_the_barrier_is_a_race() -> None:
    body = "__shared__ float t[128]; t[thread] = in[thread]; out[index] = t[127 - thread];"
    races = [one for one in checked(body).findings if one.kind == "LDS race"]
    assert races and all(one.severity == ERROR for one in races)
    text = " ".join(one.message for one in races)
    assert "ds_write_b32" in text and "ds_read_b32" in text
    assert "wavefront 0" in text and "wavefront 1" in text and "no barrier between them" in text
    assert "LDS bytes 0-3 of workgroup 0" in text
    assert [one.count for one in races] == [256], "128 places in each of two workgroups, on one source line"


def test_a_barrier_orders_the_same_accesses() -> None:
    body = "__shared__ float t[128]; t[thread] = in[thread]; __syncthreads(); out[index] = t[127 - thread];"
    assert found(body) == set()


def test_a_barrier_too_few_in_a_loop_is_a_race_of_one_iteration_with_the_next() -> None:
    loop = "__shared__ float t[128]; float s = 0; for (int k = 0; k < 4; ++k) {{ t[thread] = in[thread + k]; "
    loop += "__syncthreads(); s += t[127 - thread]; {0} }} out[index] = s;"
    assert ("LDS race", ERROR) in found(loop.format(""))
    assert found(loop.format("__syncthreads();")) == set()


def test_wavefronts_that_write_the_same_value_are_noted_and_other_values_are_an_error() -> None:
    body = "__shared__ float t[64]; t[thread & 63] = in[{0}]; __syncthreads(); out[index] = t[thread & 63] * 0;"
    assert found(body.format("thread & 63")) == {("LDS race", NOTE)}
    assert found(body.format("thread")) == {("LDS race", ERROR)}


def test_atomics_on_one_lds_word_do_not_race_with_each_other_but_with_a_plain_write() -> None:
    body = "__shared__ unsigned n; if (!thread) n = 0; {0} atomicAdd(&n, 1u); __syncthreads(); out[index] = (float)n;"
    assert found(body.format("__syncthreads();")) == set()
    assert ("LDS race", ERROR) in found(body.format(""))


def test_halves_of_a_dword_are_places_of_their_own() -> None:
    body = """__shared__ unsigned short t[128]; t[thread / 2 + (thread & 1) * 64] = thread; __syncthreads();
    out[index] = t[thread];"""
    assert found(body) == set()
    overlap = """__shared__ unsigned t[65]; if (thread < 64) t[thread] = thread;
    else *(unsigned short *)((char *)t + 4 * (thread & 63) + 2) = 7; __syncthreads(); out[index] = t[thread & 63];"""
    assert ("LDS race", ERROR) in found(overlap)


def test_two_workgroups_that_write_one_place_are_an_error_unless_the_values_agree() -> None:
    assert found("out[thread] = in[index];") == {("global race", ERROR)}
    assert found("out[thread] = in[thread];") == {("global race", NOTE)}
    assert found("out[index] = in[thread];") == set()


def test_a_read_of_what_another_workgroup_writes_is_an_error_and_an_atomic_counter_orders_it() -> None:
    body = "out[index] = in[index]; if (blockIdx.x) out[512 + thread] = out[thread] * 0;"
    (finding,) = checked(body).findings
    assert (finding.kind, finding.severity) == ("global race", ERROR)
    assert "out + 0 bytes" in finding.message and "workgroups 0 and 1" in finding.message
    last = """__shared__ unsigned place; out[index] = in[index]; __threadfence(); __syncthreads();
    if (!thread) place = atomicAdd((unsigned *)out + 3000, 1u); __syncthreads();
    if (place == 0) out[512 + thread] = out[thread] + out[128 + thread];"""
    assert found(last) == set()


def test_a_sample_says_how_much_of_the_grid_it_is() -> None:
    body = "__shared__ float t[128]; t[thread] = in[thread]; out[index] = t[127 - thread];"
    report = checked(body, sample=1)
    assert (report.workgroups, report.checked, report.lost) == (2, 1, 0)
    assert any(one.kind == "LDS race" for one in report.findings)
