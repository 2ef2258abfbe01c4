"""The operation check_claims: arguments, result, text, exit status; and lessons that are checked when recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kbserver.cli import main
from kbserver.core.errors import UnknownName, UsageError
from kbserver.core.paths import Roots
from kbserver.ops import check_claims, record_lesson

WRONG = "MI350X has 64 KB of LDS per CU."
RIGHT = "MI350X has 160 KB of LDS per CU."


def test_the_result_has_claims_summary_and_the_target_of_the_text() -> None:
    result = check_claims(f"{WRONG} {RIGHT}")
    assert result.to_json()["summary"] == {"supported": 1, "contradicted": 1, "unsourced": 0, "unknown": 0}
    assert (result.arch, result.product, result.decided_by) == ("gfx950", "MI350X", "the only target of the text")
    assert (result.total, result.truncated, result.sentences) == (2, False, 2)
    claim = result.to_json()["claims"][0]
    assert set(claim) == {"text", "line", "kind", "verdict", "finding", "evidence", "correction", "scope"}
    assert claim["evidence"][0]["ref"] == "fact:gfx950.lds.bytes_per_cu"


def test_arch_takes_products_and_says_how_it_was_decided() -> None:
    result = check_claims("LDS per CU is 64 KB.", arch="MI355X")
    assert (result.arch, result.product) == ("gfx950", "MI355X")
    assert result.decided_by == "given as arch: MI355X is gfx950"
    assert result.claims[0].verdict == "contradicted"


def test_an_unknown_arch_is_an_error_with_near_names() -> None:
    with pytest.raises(UnknownName, match="gfx951"):
        check_claims(RIGHT, arch="gfx951")


def test_a_text_without_claims_has_none() -> None:
    result = check_claims("We tried a larger tile.")
    assert (result.claims, result.total) == ([], 0)


@pytest.mark.parametrize("arguments", [{}, {"text": RIGHT, "path": "x.md"}, {"text": "  \n"}])
def test_text_or_path_is_needed_and_not_both(arguments: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        check_claims(**arguments)


def test_files_that_are_missing_binary_or_too_large_are_refused(tmp_path: Path) -> None:
    binary, large = tmp_path / "a.bin", tmp_path / "large.md"
    binary.write_bytes(b"\x7fELF\x00\x01")
    large.write_bytes(b"x" * 1_000_001)
    for path, said in ((tmp_path / "no.md", "no such file"), (tmp_path, "not a regular"), (binary, "binary")):
        with pytest.raises(UsageError, match=said):
            check_claims(path=str(path))
    with pytest.raises(UsageError, match="larger"):
        check_claims(path=str(large))
    with pytest.raises(UsageError, match="larger"):
        check_claims("é" * 600_000)


def test_a_file_with_a_mark_and_windows_line_ends_keeps_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "post.md"
    file.write_bytes(b"\xef\xbb\xbf# T\r\n\r\n" + WRONG.encode() + b"\r\n")
    result = check_claims(path=str(file))
    assert ([one.line for one in result.claims], result.name) == ([3], "post.md")


def test_the_command_reads_files_and_standard_input_and_fails_on_contradictions(
    tmp_path: Path, roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KB_ROOT", str(roots.content))
    monkeypatch.setenv("KB_WORKSPACE", str(roots.workspace))
    file = tmp_path / "post.md"
    file.write_text(WRONG)
    runs = {
        ("check", str(file)): (None, 1),
        ("check", "-"): (WRONG, 1),
        ("check", RIGHT): (None, 0),
    }
    for words, (stdin, status) in runs.items():
        import click

        @click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
        @click.pass_context
        def kb(ctx: click.Context) -> None:
            main(ctx.args)

        outcome = CliRunner().invoke(kb, list(words), input=stdin)
        assert outcome.exit_code == status, outcome.output
        assert ("right: 160 KiB (gfx950)" in outcome.output) == (status == 1)


def lesson(body: str, **rest: object) -> object:
    return record_lesson(
        "add",
        title="LDS of MI350X",
        body=body,
        arch=["gfx950"],
        evidence=["fact:gfx950.lds.bytes_per_cu"],
        **rest,  # type: ignore[arg-type]
    )


def test_a_lesson_that_states_what_is_contradicted_is_kept_but_not_verified() -> None:
    result = lesson(WRONG, status="verified")
    assert (result.status, result.written) == ("unverified", True)  # type: ignore[attr-defined]
    assert "contradicted statements: line 1: LDS size: not 64 KB" in result.status_reason  # type: ignore[attr-defined]
    assert [one.line for one in result.claims] == [1]  # type: ignore[attr-defined]


def test_a_lesson_without_contradictions_is_verified() -> None:
    result = lesson(RIGHT, status="verified")
    assert (result.status, result.claims) == ("verified", [])  # type: ignore[attr-defined]


def test_the_title_of_a_refuted_lesson_states_the_wrong_claim_on_purpose() -> None:
    common = {"action": "add", "title": WRONG, "arch": ["gfx950"], "evidence": ["fact:gfx950.lds.bytes_per_cu"]}
    refuted = record_lesson(**common, body="It has 160 KiB of LDS per CU.", status="refuted")
    asked = record_lesson(**common, body="It is as said.", status="verified", dry_run=True)
    assert (refuted.status, refuted.claims) == ("refuted", [])
    assert (asked.status, [one.line for one in asked.claims]) == ("unverified", [0])
