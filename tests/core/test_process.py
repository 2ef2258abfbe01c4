"""Limits of child processes hold, and nothing of a child's group is left behind."""

from __future__ import annotations

import os
import resource
import select
import sys
from pathlib import Path

import pytest

from kbserver.core.errors import OutputTooLarge, TimedOut, Unavailable
from kbserver.core.process import Limits, run_limited

PYTHON = [sys.executable, "-c"]


def test_a_program_that_ends_gives_its_status_and_both_streams() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    done = run_limited([*PYTHON, code], limits=Limits())
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_the_child_has_no_standard_input() -> None:
    done = run_limited([*PYTHON, "import sys; print(repr(sys.stdin.read()))"], limits=Limits())
    assert done.stdout == "''\n"


def test_arguments_are_not_read_by_a_shell() -> None:
    done = run_limited([*PYTHON, "import sys; print(sys.argv[1])", "$(id); `id`"], limits=Limits())
    assert done.stdout == "$(id); `id`\n"


def test_a_missing_program_is_unavailable_and_named() -> None:
    with pytest.raises(Unavailable, match="cannot start the tester") as caught:
        run_limited(["/nowhere/tester"], limits=Limits(), what="the tester")
    assert caught.value.where == "/nowhere/tester"


def test_the_wall_clock_limit_kills_grandchildren_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"sleep 1000 & echo $! > {note}; wait"
    with pytest.raises(TimedOut, match=r"timed out after 0\.5 s"):
        run_limited(["/bin/sh", "-c", script], limits=Limits(wall_s=0.5))
    grandchild = int(note.read_text())
    assert _ends(grandchild)


def test_a_grandchild_that_keeps_the_streams_open_does_not_outlive_the_limit() -> None:
    with pytest.raises(TimedOut):
        run_limited(["/bin/sh", "-c", "sleep 1000 & exit 0"], limits=Limits(wall_s=0.5))


def test_endless_output_is_stopped_at_the_limit() -> None:
    with pytest.raises(OutputTooLarge, match="more than 10000 bytes"):
        run_limited([*PYTHON, "while True: print('a' * 1000)"], limits=Limits(output_bytes=10_000))


def test_memory_beyond_the_limit_is_refused_to_the_child() -> None:
    limited = Limits(memory_bytes=512 << 20)
    done = run_limited([*PYTHON, "x = bytearray(1 << 30)"], limits=limited)
    assert done.returncode == 1
    assert "MemoryError" in done.stderr


def test_without_a_memory_limit_a_child_may_reserve_more_addresses_than_there_is_memory() -> None:
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY)"
    before = run_limited([*PYTHON, code], limits=Limits())
    assert before.stdout == "False\n"
    free = run_limited([*PYTHON, code], limits=Limits(memory_bytes=None))
    assert free.stdout == f"{resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY}\n"


def test_a_file_larger_than_the_limit_is_not_written(tmp_path: Path) -> None:
    target = tmp_path / "big"
    run_limited([*PYTHON, f"open({str(target)!r}, 'wb').write(b'a' * 100_000)"], limits=Limits(file_bytes=10_000))
    assert target.stat().st_size <= 10_000


def test_bytes_that_are_no_text_are_replaced() -> None:
    done = run_limited([*PYTHON, r"import os; os.write(1, b'a\xffb')"], limits=Limits())
    assert done.stdout == "a\ufffdb"


def test_a_signal_shows_as_a_negative_status() -> None:
    done = run_limited([*PYTHON, "import os; os.kill(os.getpid(), 9)"], limits=Limits())
    assert done.returncode == -9


def _ends(pid: int) -> bool:
    """Return whether the process is gone, or goes within ten seconds: a killed one may take a moment to die."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10.0)[0])
    finally:
        os.close(handle)
