"""`kb search` as a user's shell runs it: a fresh process of installed code, the index cached."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def fresh_search_s(query: str, runs: int, *options: str) -> dict[str, float]:
    """Return median and least seconds of `kb OPTIONS search QUERY`, each in a process of its own.

    pip compiles what it installs to bytecode: a checkout that may not write any would compile some forty modules a run.
    """
    command = [sys.executable, "-m", "kbserver", *options, "search", query]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(ROOT)}
    times = []
    for number in range(runs + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=environment)
        if number:  # the first one builds what is cached
            times.append(time.perf_counter() - start)
    return {"p50": round(statistics.median(times), 3), "min": round(min(times), 3), "n": runs}
