"""Code objects: what is read from ELF file, descriptors and bundles; damaged files are refused."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from kbserver.core.errors import CompileFailed, KbError, Unavailable, UsageError
from kbserver.toolchain import disassembler
from kbserver.toolchain.assembly import parse_assembly
from kbserver.toolchain.bundle import gpu_images
from kbserver.toolchain.elf import read_code_object
from kbserver.toolchain.ready import as_assembly, build_ready, open_ready
from tests.toolchain.clang import needs_clang
from tests.toolchain.code_objects import SCALE, SCALE_DUMP, SCALE_TEXT, bundle, needs_objdump

DATA = SCALE.read_bytes()
GFX950 = "hipv4-amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-"


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_WORKSPACE", str(tmp_path / "workspace"))


def test_target_functions_descriptors_and_arguments_are_read() -> None:
    found = read_code_object(DATA, "scale.co")
    assert found.target == "gfx950"
    assert [(symbol.name, symbol.address, symbol.size) for symbol in found.functions] == [("scale", 0x1500, 0x50)]
    assert list(found.descriptors) == ["scale"]
    (kernel,) = found.metadata["amdhsa.kernels"]
    assert [(a[".offset"], a[".size"]) for a in kernel[".args"]] == [(0, 8), (8, 4)]


def test_recorded_disassembly_becomes_a_kernel_with_labels_and_descriptor() -> None:
    program = parse_assembly(as_assembly(read_code_object(DATA, "scale.co"), SCALE_DUMP.read_text()))
    assert (program.target, program.unread, program.problems) == ("gfx950", (), ())
    (kernel,) = program.functions.values()
    assert kernel.is_kernel
    assert len(kernel.instructions) == 17
    # A symbol inside the function is a label of it, not another function.
    assert (kernel.labels["again"], kernel.labels["finish"]) == (4, 16)
    assert kernel.instructions[7].operands == ("again",)
    words = {key: kernel.descriptor[key] for key in ("kernarg_size", "user_sgpr_kernarg_segment_ptr", "accum_offset")}
    assert words == {"kernarg_size": "16", "user_sgpr_kernarg_segment_ptr": "1", "accum_offset": "4"}
    assert kernel.descriptor["float_denorm_mode_32"] == "3"
    assert kernel.metadata["max_flat_workgroup_size"] == 64


def test_jumps_of_a_disassembly_count_dwords_from_the_next_instruction() -> None:
    program = parse_assembly(
        "0000000000001000 <k>:\n"
        "\ts_nop 0                // 000000001000: BF800000\n"
        "\ts_cbranch_scc1 65534    // 000000001004: BF85FFFE <k>\n"
        "\ts_branch 1              // 000000001008: BF820001 <k+0x10>\n"
        "\ts_nop 1                 // 00000000100C: BF800001\n"
        "\ts_endpgm                // 000000001010: BF810000\n"
        "\ts_branch 8              // 000000001014: BF820008 <other+0x4>\n"
    )
    function = program.functions["k"]
    backward, forward, away = (function.instructions[place] for place in (1, 2, 5))
    assert function.labels[backward.operands[0]] == 0
    assert function.labels[forward.operands[0]] == 4
    assert away.operands == ("other+0x4",)
    assert away.operands[0] not in function.labels
    assert forward.text == "s_branch k+0x10"


def test_source_lines_of_a_disassembly_reach_the_instructions() -> None:
    program = parse_assembly(
        "0000000000001000 <k>:\n; k():\n; ./a.hip:7\n\ts_nop 0 // 000000001000: BF800000\n"
        "; ./a.hip:9 (discriminator 2)\n\ts_nop 0 // 000000001004: BF800000\n"
        "; ./a.hip:0\n\ts_endpgm // 000000001008: BF810000\n"
    )
    sources = [instruction.source for instruction in program.functions["k"].instructions]
    assert [source and str(source) for source in sources] == ["a.hip:7", "a.hip:9", None]


def test_padding_behind_a_function_is_left_out() -> None:
    dump = SCALE_DUMP.read_text() + "\ts_nop 0  // 000000001550: BF800000\n\tv_illegal  // 000000001554: FFFFFFFF\n"
    (kernel,) = parse_assembly(as_assembly(read_code_object(DATA, "scale.co"), dump)).kernels
    assert kernel.instructions[-1].mnemonic == "s_endpgm"
    assert len(kernel.instructions) == 17


def test_target_of_newer_triples_is_read() -> None:
    text = '\t.amdgcn_target "amdgpu9.42-amd-amdhsa-unknown-gfx942:xnack-"\n'
    assert parse_assembly(text).target == "gfx942:xnack-"


def test_a_bundle_gives_the_images_of_gpus_only() -> None:
    data = bundle(("host-x86_64-unknown-linux--", b""), (GFX950, DATA))
    assert gpu_images(data, "fat.o") == {"gfx950": DATA}
    assert gpu_images(b"\x7fELF of a host program ... .hip_fatbin\0" + data + b"rest", "a.out") == {"gfx950": DATA}


def _other_target() -> bytes:
    """Return the code object with gfx942 in its ELF header and its metadata."""
    flags = struct.unpack_from("<I", DATA, 48)[0]
    return (DATA[:48] + struct.pack("<I", flags & ~0xFF | 0x4C) + DATA[52:]).replace(b"--gfx950", b"--gfx942")


def test_a_file_for_two_targets_needs_the_one_that_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "fat.hipfb"
    path.write_bytes(bundle((GFX950, DATA), ("hipv4-amdgcn-amd-amdhsa--gfx942", _other_target())))
    with pytest.raises(UsageError, match="gfx950, gfx942"):
        open_ready(path, None)
    snapshot, arch = open_ready(path, "gfx942")
    assert (snapshot.files["fat.hipfb"], arch) == (_other_target(), "gfx942")
    with pytest.raises(UsageError, match="not for gfx90a"):
        open_ready(path, "gfx90a")


def test_header_and_metadata_must_name_the_same_target() -> None:
    with pytest.raises(UsageError, match="the ELF header says gfx950, the metadata gfx942"):
        read_code_object(DATA.replace(b"--gfx950", b"--gfx942"), "scale.co")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"CCOB" + bytes(64), "compressed"),
        (b"MZ" + bytes(100), "no code object"),
        (bundle(("host-x86_64-unknown-linux--", b"x")), "holds no code object"),
        (bundle((GFX950, DATA))[:-1], "cut"),
        (b"__CLANG_OFFLOAD_BUNDLE__\xff", "damaged"),
        (DATA[:16] + struct.pack("<H", 1) + DATA[18:], "not linked"),
        (DATA.replace(b"scale.kd\0", b"scale.no\0"), "no kernel"),
    ],
)
def test_files_without_usable_code_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        gpu_images(data, "x.co")


def test_damaged_files_end_in_an_error_of_ours_or_are_read() -> None:
    """No exception but ours, for cut files and for files with bytes changed (headers and tables first)."""
    rng = random.Random(5)
    fat = bundle((GFX950, DATA))
    damaged = [DATA[:size] for size in range(0, len(DATA), 7)]
    for _ in range(3000):
        changed = bytearray(rng.choice((DATA, fat)))
        for _ in range(rng.randint(1, 6)):
            changed[rng.randrange(rng.choice((64, 900, len(changed))))] = rng.choice(
                (0, 1, 0x7F, 0xFF, rng.randrange(256))
            )
        damaged.append(bytes(changed))
    refused, dump = 0, SCALE_DUMP.read_text()
    for data in damaged:
        try:
            for image in gpu_images(data, "x.co").values():
                parse_assembly(as_assembly(read_code_object(image, "x.co"), dump))
        except KbError:
            refused += 1
    assert 500 < refused < len(damaged)


@needs_objdump
def test_a_code_object_becomes_a_build(tmp_path: Path) -> None:
    snapshot, arch = open_ready(SCALE, None)
    built = build_ready(snapshot, arch or "")
    assert (built.arch, built.compiler_kind, built.source, built.image) == ("gfx950", "given", "scale.co", DATA)
    assert built.compiler_version.startswith("code object, disassembled by llvm-objdump ")
    assert not built.cached
    assert build_ready(snapshot, "gfx950").cached
    recorded = as_assembly(read_code_object(DATA, "scale.co"), SCALE_DUMP.read_text())
    expected = [i.text for i in parse_assembly(recorded).kernels[0].instructions]
    assert [i.text for i in parse_assembly(built.assembly_text).kernels[0].instructions] == expected


def test_without_a_disassembler_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KB_LLVM", raising=False)
    monkeypatch.setattr(disassembler, "rocm_clangs", lambda: iter(()))
    monkeypatch.setattr(disassembler.shutil, "which", lambda name: None)
    with pytest.raises(Unavailable, match="no disassembler") as caught:
        build_ready(*open_ready(SCALE, "gfx950"))  # type: ignore[arg-type]
    assert "llvm-22" in (caught.value.hint or "")


def test_a_disassembler_that_is_named_must_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KB_LLVM", str(tmp_path))
    with pytest.raises(Unavailable, match="KB_LLVM"):
        disassembler.find_disassembler()


@needs_clang
def test_assembly_text_is_expanded_and_keeps_its_line_numbers() -> None:
    snapshot, arch = open_ready(SCALE_TEXT, None)
    built = build_ready(snapshot, arch or "")
    (kernel,) = parse_assembly(built.assembly_text).kernels
    step = kernel.instructions[4]
    # A macro counts as the line that uses it; the assembler spells the encoding out.
    assert (step.text, str(step.source)) == ("v_add_u32_e32 v1, 5, v1", "scale.s:18")
    assert str(kernel.instructions[5].source) == "scale.s:19"
    assert (kernel.labels["again"], kernel.labels["finish"]) == (4, 16)
    # A default that the text does not state.
    assert kernel.descriptor["ieee_mode"] == "1"


@needs_clang
def test_text_that_does_not_assemble_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.s"
    path.write_text(SCALE_TEXT.read_text().replace("s_add_u32 s3, s2, 3", "s_add_u33 s3, s2, 3"))
    snapshot, arch = open_ready(path, None)
    with pytest.raises(CompileFailed, match="invalid instruction") as caught:
        build_ready(snapshot, arch or "")
    assert caught.value.where == "bad.s:16"


def test_marked_literals_are_numbers_except_where_they_would_mean_another_value() -> None:
    text = ("k:\n\ts_addc_u32 s3, s3, lit(0xffffffff)\n\tv_add_f64 v[0:1], v[0:1], lit(0x1)\n\ts_endpgm\n").replace(
        "k:", "\t.type\tk,@function\nk:"
    )
    code = parse_assembly(text).functions["k"].instructions
    assert code[0].operands == ("s3", "s3", "0xffffffff")
    assert code[1].operands[2] == "lit(0x1)"
