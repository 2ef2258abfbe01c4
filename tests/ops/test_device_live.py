"""Running rocminfo here: absent, broken, silent and well, with a program of our own in its place."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from kbserver.core.errors import NoDevice, OutputTooLarge
from kbserver.hardware import live
from kbserver.ops import device_info

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "rocminfo"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that puts a shell script in rocminfo's place."""

    def put(script: str) -> None:
        path = tmp_path / "rocminfo"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return put


def test_a_machine_without_rocminfo_says_what_was_checked_and_what_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(live, "ROCM_ROOTS", tmp_path)
    monkeypatch.setattr(live, "KFD", tmp_path / "kfd")
    with pytest.raises(NoDevice) as caught:
        device_info()
    assert caught.value.exit_status == 3
    assert "kb device --from FILE" in (caught.value.hint or "")
    assert "does not exist" in caught.value.details["checks"][0]


def test_rocminfo_is_found_in_the_newest_rocm_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(live, "ROCM_ROOTS", tmp_path)
    for version in ("rocm-6.4.1", "rocm-7.0.2"):
        path = tmp_path / version / "bin" / "rocminfo"
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    assert live.find_rocminfo() == str(tmp_path / "rocm-7.0.2" / "bin" / "rocminfo")


def test_the_gpus_of_a_working_rocminfo_are_listed(program) -> None:
    program(f"cat {FIXTURES / 'mi355x.txt'}")
    result = device_info()
    assert (result.origin, result.gpus[0].product) == ("rocminfo on this machine", "MI355X")


def test_errors_on_stderr_are_read_as_well(program) -> None:
    program("echo 'ROCk module is loaded'; echo 'Unable to open /dev/kfd read-write: Permission denied' >&2; exit 1")
    assert [problem.code for problem in device_info().problems] == ["no_gpu", "kfd_permission_denied"]


def test_a_rocminfo_that_lists_nothing_is_no_device_with_its_first_line(program) -> None:
    program("echo 'rocminfo: error while loading shared libraries: libhsa-runtime64.so.1' >&2; exit 127")
    with pytest.raises(NoDevice, match="libhsa-runtime64"):
        device_info()


def test_a_silent_rocminfo_is_no_device_with_its_status(program) -> None:
    program("exit 3")
    with pytest.raises(NoDevice, match="ended with status 3"):
        device_info()


def test_a_rocminfo_that_never_stops_writing_is_stopped(program) -> None:
    program("while :; do echo 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'; done")
    with pytest.raises(OutputTooLarge):
        device_info()


def test_a_plain_file_in_place_of_kfd_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "kfd").write_text("")
    assert live.kfd_checks(tmp_path / "kfd") == [f"{tmp_path / 'kfd'} is not a device"]


def test_a_device_that_may_be_opened_is_said_to_be() -> None:
    assert live.kfd_checks(Path("/dev/null")) == ["/dev/null exists", "this user may open it"]
