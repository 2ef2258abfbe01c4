"""Count the variants of a reference kernel on the emulator: `python -m kbserver.runs.measure_reference NAME ...`.

NAME is a folder of `reference_kernels/`. Writes its `measured.yaml` and the table in its `README.md`. With --check,
nothing is written and the exit status says whether something would have been.
"""

from __future__ import annotations

import argparse

from kbserver.core.errors import KbError, UnknownName
from kbserver.core.paths import current_roots
from kbserver.core.store import write_atomic
from kbserver.runs.measured import FILE, README, measure, text_of, with_table
from kbserver.runs.task import REFERENCE_KERNELS

COMMAND = "python -m kbserver.runs.measure_reference"


def files_of(name: str) -> dict[str, str]:
    """Return the files of a reference kernel's folder that hold its counts. Raises UnknownName."""
    shelf = current_roots().content / REFERENCE_KERNELS
    folder = shelf / name
    known = sorted(path.parent.name for path in shelf.glob("*/task.yaml"))
    if name not in known:
        raise UnknownName("reference kernel", name, known)
    data = measure(folder)
    files = {FILE: text_of(data, name)}
    if (folder / README).is_file():
        files[README] = with_table((folder / README).read_text("utf-8"), data, f"{name}/{README}")
    return files


def main() -> None:
    """Write the files, or with --check compare them."""
    parser = argparse.ArgumentParser(
        prog=COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="compare with the files in place; write nothing")
    arguments = parser.parse_args()
    changed = []
    for name in arguments.names:
        folder = current_roots().content / REFERENCE_KERNELS / name
        try:
            files = files_of(name)
        except KbError as error:
            raise SystemExit(error.one_line()) from None
        for file, text in files.items():
            if not (folder / file).is_file() or (folder / file).read_text("utf-8") != text:
                changed.append(f"{name}/{file}")
                if not arguments.check:
                    write_atomic(folder / file, text)
    if arguments.check and changed:
        raise SystemExit(f"differs from what {COMMAND} writes: {', '.join(changed)}")


if __name__ == "__main__":
    main()
