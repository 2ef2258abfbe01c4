"""A command pays for its own operation only: start-up time is what an agent waits for on every call."""

from __future__ import annotations

import subprocess
import sys

from kbserver.ops.registry import HOMES

SCRIPT = """
import sys
from kbserver.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("\\n".join(name for name in sys.modules if name.startswith("kbserver.ops.")), file=sys.stderr)
"""


def test_search_imports_no_other_operation() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "search", "LDS", "bank", "conflicts"], capture_output=True, text=True, check=True
    )
    loaded = {name.rpartition(".")[2] for name in done.stderr.split()}
    assert "LDS" in done.stdout
    assert loaded & {area for _, area in HOMES.values()} == {"knowledge"}


def test_every_operation_of_the_package_is_listed() -> None:
    import kbserver.ops as ops

    assert set(HOMES) <= set(dir(ops))
    assert ops.search is ops.operations()["search"].run
