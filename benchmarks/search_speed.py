"""What search costs: building the index, loading it, a query, memory, and `kb search` as a fresh process.

    python benchmarks/search_speed.py [--write benchmarks/results/search_speed.json]

Queries are those of tests/retrieval in both forms, five hits each, asked once before they are timed. Everything runs in
one process that has done nothing else, except the fresh processes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.fresh import fresh_search_s  # noqa: E402
from kbserver.core.paths import Roots, current_roots, use_roots  # noqa: E402
from kbserver.ops import search  # noqa: E402
from kbserver.ops.corpus import search_index  # noqa: E402
from tests.retrieval.runner import FORMS, load_questions  # noqa: E402

QUESTIONS = [ROOT / "tests" / "retrieval" / f"{stem}.yaml" for stem in ("questions", "threads_tune")]


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def spread(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "p50": round(statistics.median(ordered), 2),
        "p95": round(ordered[int(0.95 * len(ordered))], 2),
        "max": round(ordered[-1], 2),
        "n": len(ordered),
    }


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return round(pages * resource.getpagesize() / 2**20, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="fresh processes")
    parser.add_argument("--write", type=Path, help="write the figures to this JSON file")
    arguments = parser.parse_args()
    queries = [getattr(one, form) for path in QUESTIONS for one in load_questions(path) for form in FORMS]
    content = current_roots().content
    with tempfile.TemporaryDirectory() as folder:
        report: dict[str, Any] = {"python": platform.python_version(), "machine": f"{os.cpu_count()} cores"}
        report["resident_mib_before"] = resident_mib()
        with use_roots(Roots(content, Path(folder), "benchmark")):
            report["build_ms"] = round(milliseconds(search_index), 1)
        # Another root of the same folders is another index of the process: it loads what the first has written.
        with use_roots(Roots(content, Path(folder), "benchmark, second")):
            report["cached_load_ms"] = round(milliseconds(search_index), 1)
            index = search_index()
            report["entries"] = len(index)
            report["index_file_mib"] = round(sum(p.stat().st_size for p in Path(folder).rglob("search-*")) / 2**20, 2)
            report["first_query_ms"] = round(milliseconds(lambda: index.search(queries[0])), 2)
            for query in queries:
                index.search(query)
            report["index_query_ms"] = spread([milliseconds(lambda q=query: index.search(q)) for query in queries])
            report["search_operation_ms"] = spread([milliseconds(lambda q=query: search(q)) for query in queries])
            report["resident_mib_after"] = resident_mib()
        report["kb_search_fresh_process_s"] = fresh_search_s(
            "LDS size of MI355X", arguments.runs, "--workspace", folder
        )
    print(json.dumps(report, indent=2))
    if arguments.write:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        arguments.write.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
