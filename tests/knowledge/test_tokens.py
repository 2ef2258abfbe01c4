"""Tokens: what an engineer types is found whole, in parts, and under its other names."""

from __future__ import annotations

import pytest

from kbserver.knowledge.tokens import MAX_WORD, Tokenizer, spelling, stem

TOKENIZER = Tokenizer(
    [
        ["LDS", "shared memory", "smem", "__shared__", "local data share"],
        ["workgroup", "work-group", "thread block", "block"],
        ["launch bounds", "__launch_bounds__"],
        ["gfx950", "CDNA4", "CDNA 4", "MI355X"],
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "v_mfma_f32_16x16x32_bf16",
            {"v_mfma_f32_16x16x32_bf16", "mfma", "f32", "16x16x32", "16x16", "bf16"},
        ),
        ("16x16x8bf16", {"16x16x8bf16", "16x16x8", "16x16", "bf16"}),
        ("SQ_LDS_BANK_CONFLICT", {"sq_lds_bank_conflict", "lds", "bank", "conflict"}),
        ("--offload-arch=gfx950", {"offload-arch", "offload", "arch", "gfx950", "=gfx950"}),
        ("-Rpass-analysis=kernel-resource-usage", {"rpass-analysis", "kernel-resource-usage", "resourc", "usag"}),
        ("hipDeviceAttributeNumberOfXccs", {"hip", "devic", "attribut", "number", "xcc"}),
        ("gpu_arch/cdna4/lds.md", {"gpu_arch/cdna4/lds.md", "cdna4", "lds"}),
        ("__syncthreads()", {"__syncthreads", "syncthread"}),
        ("s_waitcnt vmcnt(0)", {"s_waitcnt", "waitcnt", "vmcnt", "0"}),
        ("0x800", {"0x800"}),
        ("ds_read_b128", {"ds_read_b128", "read", "b128", "128bits"}),
        ("global_load_dwordx4", {"global", "load", "dwordx4", "128bits"}),
        ("16-byte loads", {"16", "16b", "128bits", "load"}),
        ("atomicAdd", {"atomicadd", "atomic", "add"}),
        ("тест", {"тест"}),
        ("ﬁne", {"fin"}),
        ("v_permlane32_swap_b32", {"permlane32", "permlan", "swap"}),
        ("global_load_dwordx4", {"dwordx4", "dword"}),
        ("Triton's", {"triton"}),
    ],
)
def test_a_word_is_kept_whole_and_in_parts(text: str, expected: set[str]) -> None:
    assert expected <= set(TOKENIZER.tokens(text))


@pytest.mark.parametrize(
    "text", ["160KB", "160 KB", "160 KiB", "160KiB", "160K", "163,840 bytes", "163840 B", "163840 bytes", "160-KiB"]
)
def test_spellings_of_one_size_share_a_token(text: str) -> None:
    assert "160kb" in TOKENIZER.tokens(f"up to {text} of it")


def test_a_number_is_not_glued_to_what_is_no_unit() -> None:
    assert TOKENIZER.tokens("64 banks, 4 MB; 5.3 TB/s") == ["64", "64banks", "bank", "4", "4mb", "5.3", "5.3tb/s"]
    assert "16b" not in TOKENIZER.tokens("16 banked")


@pytest.mark.parametrize("name", ["LDS", "shared memory", "Shared Memory", "smem", "__shared__", "local data share"])
def test_every_name_of_a_thing_gives_its_concept(name: str) -> None:
    assert "=lds" in TOKENIZER.tokens(f"the {name} size")


def test_phrases_match_plurals_and_the_longest_name_wins() -> None:
    assert "=workgroup" in TOKENIZER.tokens("thread blocks")
    assert TOKENIZER.tokens("shared") == ["shar"]
    assert "=gfx950" in TOKENIZER.tokens("on CDNA 4 and MI355X")


@pytest.mark.parametrize(
    "forms",
    [
        "bank banks", "cache caches cached caching", "latency latencies", "class classes", "box boxes",
        "branch branches", "spill spills spilled spilling", "map mapped mapping", "trace traced tracing",
        "issue issues issued issuing", "pad pads padding",
    ],
)  # fmt: skip
def test_forms_of_one_word_share_a_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


@pytest.mark.parametrize(
    "word", ["pass", "bus", "analysis", "lds", "is", "gfx942s", "string", "speed", "exceed", "mi350x", "value"]
)
def test_words_without_such_an_ending_stay(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(("stop", "kept"), [("what does it take", []), ("does a wave spill?", ["wav", "spill"])])
def test_words_that_say_nothing_are_left_out_in_every_form(stop: str, kept: list[str]) -> None:
    assert TOKENIZER.tokens(stop) == kept


def test_every_word_of_a_name_knows_the_concept_that_it_is_part_of() -> None:
    concepts = [(word.tokens, word.concept, word.begins) for word in TOKENIZER.words("local data share banks")]
    assert concepts == [
        (("local",), "=lds", True),
        (("data",), "=lds", False),
        (("shar",), "=lds", False),
        (("bank",), None, False),
    ]


def test_a_stem_is_spelt_as_the_texts_spell_it() -> None:
    assert spelling("barrier", ["Barriers drain.", "A barrier joins."]) == "barrier"
    assert spelling("cach", ["Caches are small."]) == "caches"
    assert spelling("absent", ["Caches are small."]) == "absent"


@pytest.mark.parametrize(
    "text", ["", "   ", "the of and", "!!!", "... --- ///", "___", "x" * (MAX_WORD + 1), "\x00\x01"]
)
def test_text_without_usable_words_gives_no_tokens(text: str) -> None:
    assert TOKENIZER.tokens(text) == []


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "a-" * 50_000, "1," * 50_000, "1 " * 50_000, "_" * 100_000, "aB" * 50_000]
)
def test_long_runs_end(text: str) -> None:
    assert isinstance(TOKENIZER.tokens(text), list)
