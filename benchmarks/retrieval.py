"""Retrieval quality on a questions file: our search beside rank-bm25 as it comes, in one run.

    python benchmarks/retrieval.py tests/retrieval/questions.yaml [--misses]

The file is a list of entries with id, question, short_query, must_contain (regular expressions) and arch.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kbserver.ops.corpus import search_index
from tests.retrieval.runner import (
    FORMS,
    all_candidates,
    answerable,
    load_questions,
    our_ranker,
    plain_ranker,
    rank_of,
    score,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--misses", action="store_true", help="list the questions without an answer in the first three")
    arguments = parser.parse_args()
    questions = load_questions(arguments.questions)
    index = search_index()
    candidates = all_candidates(index)
    can = answerable(questions, candidates)
    print(f"{len(questions)} questions, {len(candidates)} entries, index {index.version}")
    print(f"answered by some entry: {len(can)} of {len(questions)}")
    print(f"{'ranking':22}{'form':13}{'hit@1':>7}{'hit@3':>7}{'hit@5':>7}{'MRR':>7}")
    rankers = {"kb search": our_ranker(index), "rank-bm25, plain": plain_ranker(candidates)}
    for name, ranker in rankers.items():
        for form in FORMS:
            got = score(questions, form, ranker)
            print(f"{name:22}{form:13}{got.hit_at_1:7.3f}{got.hit_at_3:7.3f}{got.hit_at_5:7.3f}{got.mrr:7.3f}")
    if arguments.misses:
        for question in questions:
            for form in FORMS:
                rank = rank_of(question, form, rankers["kb search"])
                if rank is None or rank > 3:
                    place = f"place {rank}" if rank else ("not in 10" if question.id in can else "no entry answers")
                    print(f"{place:17}{question.id}: {getattr(question, form)}")


if __name__ == "__main__":
    main()
