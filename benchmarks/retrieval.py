"""Retrieval quality: our search beside a word count, rank-bm25, bm25s and a small embedding model, in one run.

    python benchmarks/retrieval.py [FILE ...] [--misses] [--root CONTENT] [--write benchmarks/results/retrieval.json]

Without files: those of tests/retrieval. A file is a list of entries with id, question, short_query, must_contain
(regular expressions) and arch. The sets named in UNSEEN were measured before content or ranking was made with them:
they say how a new question fares; the others say that nothing got worse. The peers rank the same entries; they get
title and text, we index headings, tags and synonyms as well. `pip install -e ".[bench]"` installs all of them.
--root ranks other content, for instance that of an earlier commit (`git archive COMMIT | tar -x -C CONTENT`), for which
every set collected later is unseen.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.rankers import PEERS, ripgrep_version, versions_of  # noqa: E402
from kbserver.core.paths import find_roots, set_process_roots  # noqa: E402
from kbserver.knowledge.index import SearchIndex  # noqa: E402
from kbserver.ops.corpus import search_index  # noqa: E402
from tests.retrieval.runner import (  # noqa: E402
    FORMS,
    Question,
    Ranker,
    all_candidates,
    answerable,
    load_questions,
    our_ranker,
    rank_of,
    score,
    snippet_share,
)

UNSEEN = ("threads_b", "threads_e")
"""Files that nobody who wrote content or ranking had read at the time of the report."""
FILES = sorted((ROOT / "tests" / "retrieval").glob("threads_*.yaml"), key=lambda path: path.stem in UNSEEN)
FILES.insert(0, ROOT / "tests" / "retrieval" / "questions.yaml")


def measure(questions: list[Question], rankers: dict[str, Ranker], index: SearchIndex) -> dict[str, Any]:
    """Return the shares of each ranker in both forms, and how many questions some entry answers."""
    figures: dict[str, Any] = {
        "questions": len(questions),
        "answered_by_some_entry": len(answerable(questions, all_candidates(index))),
        "title_and_snippet_alone_answer_in_3": {
            form: round(snippet_share(questions, form, index), 3) for form in FORMS
        },
    }
    for name, ranker in rankers.items():
        for form in FORMS:
            got = score(questions, form, ranker)
            shares = {"hit@1": got.hit_at_1, "hit@3": got.hit_at_3, "hit@5": got.hit_at_5, "mrr": got.mrr}
            figures.setdefault(name, {})[form] = {key: round(value, 3) for key, value in shares.items()}
    return figures


def show(name: str, figures: dict[str, Any]) -> None:
    print(f"\n{name}: {figures['questions']} questions, {figures['answered_by_some_entry']} answered by some entry")
    print(f"title and snippet alone answer in the first 3: {figures['title_and_snippet_alone_answer_in_3']}")
    print(f"{'ranking':30}{'form':13}{'hit@1':>7}{'hit@3':>7}{'hit@5':>7}{'MRR':>7}")
    for ranker, forms in figures.items():
        if isinstance(forms, dict) and "question" in forms and isinstance(forms["question"], dict):
            for form, shares in forms.items():
                print(f"{ranker:30}{form:13}" + "".join(f"{value:7.3f}" for value in shares.values()))


def show_misses(questions: list[Question], ranker: Ranker) -> None:
    for question in questions:
        for form in FORMS:
            rank = rank_of(question, form, ranker)
            if rank is None or rank > 3:
                print(f"{'place ' + str(rank) if rank else 'not in 10':12}{question.id}: {getattr(question, form)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", default=FILES)
    parser.add_argument("--misses", action="store_true", help="list the questions without an answer in the first three")
    parser.add_argument("--write", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--root", type=Path, help="content to rank, a folder with index.yaml; default: this checkout")
    arguments = parser.parse_args()
    if arguments.root:
        set_process_roots(find_roots(arguments.root))
    index = search_index()
    candidates = all_candidates(index)
    rankers, versions, left_out = {"kb search": our_ranker(index)}, {"python": platform.python_version()}, []
    for name, (make, packages) in PEERS.items():
        installed = versions_of(packages)
        if installed is None:
            left_out.append(f"{name}: needs {', '.join(packages)}")
            continue
        versions |= installed
        rankers[name] = make(candidates)
    versions["ripgrep"] = ripgrep_version()
    report: dict[str, Any] = {
        "index": index.version,
        "entries": dict(sorted(Counter(row.kind for row in index.rows).items())),
        "versions": versions,
        "left_out": left_out,
        "sets": {},
    }
    print(f"{len(candidates)} entries, index {index.version}; left out: {'; '.join(left_out) or 'none'}")
    for path in arguments.files:
        questions = load_questions(path)
        report["sets"][path.stem] = {"unseen": path.stem in UNSEEN, **measure(questions, rankers, index)}
        show(path.stem, report["sets"][path.stem])
        if arguments.misses:
            show_misses(questions, rankers["kb search"])
    if arguments.write:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        arguments.write.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
