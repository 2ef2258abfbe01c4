"""Records of runs: whole or not there, found by id, refused when broken."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UnresolvedRef, WorkspaceError
from kbserver.core.paths import Roots
from kbserver.runs.records import load_run, new_run_id, newest_runs, write_run


def test_a_run_is_read_back_as_it_was_written() -> None:
    run_id = new_run_id()
    write_run(run_id, "verify", {"verdict": "PASS", "text": "тест ✓"}, "ab" * 32)
    record = load_run(run_id)
    assert record["kind"] == "verify" and record["source_sha256"] == "ab" * 32
    assert record["result"] == {"verdict": "PASS", "text": "тест ✓"}
    assert newest_runs(5) == [run_id]


@pytest.mark.parametrize("run_id", ["", "zz", "../../etc/passwd", "a" * 5000, "0123456789ab", "0123456789AB"])
def test_an_id_that_no_run_has_does_not_resolve(run_id: str) -> None:
    known = new_run_id()
    write_run(known, "verify", {}, "")
    with pytest.raises(UnresolvedRef, match="no run of this id") as caught:
        load_run(run_id)
    assert known in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2, "result": {}}', '{"format": 1, "result": 3}', "\x00"])
def test_a_broken_record_is_an_error_that_names_the_run(roots: Roots, text: str) -> None:
    roots.runs.mkdir(parents=True, exist_ok=True)
    (roots.runs / "0123456789ab.json").write_text(text)
    with pytest.raises(WorkspaceError) as caught:
        load_run("0123456789ab")
    assert caught.value.where == "run:0123456789ab"
