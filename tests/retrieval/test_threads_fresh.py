"""The fresh held-out questions can be measured: the file is well formed and shares nothing with the other sets.

Nothing here ranks them. What the search answers is looked at only in the benchmark report.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.yamlio import load_yaml
from tests.retrieval.runner import FORMS, load_questions

FOLDER = Path(__file__).parent
FRESH = FOLDER / "threads_fresh.yaml"
OTHERS = ("questions.yaml", "threads_tune.yaml", "threads_held.yaml")
FIELDS = {"id", "question", "short_query", "arch", "answer", "must_contain", "kind", "source", "answer_source"}
ENTRIES = load_yaml(FRESH)


def test_every_entry_has_all_fields_and_known_targets() -> None:
    assert [entry["id"] for entry in ENTRIES if set(entry) != FIELDS or not all(entry.values())] == []
    assert {arch for entry in ENTRIES for arch in entry["arch"]} == {"gfx90a", "gfx942", "gfx950"}


def test_ids_are_unique_and_in_no_other_set() -> None:
    ids = [entry["id"] for entry in ENTRIES]
    others = {entry["id"] for name in OTHERS for entry in load_yaml(FOLDER / name)}
    assert len(ids) == len(set(ids)) >= 45
    assert set(ids) & others == set()


@pytest.mark.parametrize("name", ["threads_tune.yaml", "threads_held.yaml"])
def test_no_thread_was_used_for_another_set(name: str) -> None:
    assert {entry["source"] for entry in ENTRIES} & {entry["source"] for entry in load_yaml(FOLDER / name)} == set()


def test_nothing_was_used_in_the_recorded_questions(shared_data: Path) -> None:
    recorded = load_yaml(shared_data / "questions.yaml")
    for field in ("id", "source"):
        assert {entry[field] for entry in ENTRIES} & {entry.get(field) for entry in recorded} == set()


def test_the_right_answer_fulfils_the_patterns_and_the_question_alone_does_not() -> None:
    """Patterns that the asker's own words fulfil would take any text on the topic for an answer."""
    wrong = []
    for question, entry in zip(load_questions(FRESH), ENTRIES, strict=True):
        asked = "\n".join(getattr(question, form) for form in FORMS)
        if not question.answered_by(f"{asked}\n{entry['answer']}", question.arch):
            wrong.append((question.id, "answer"))
        wrong += [(question.id, form) for form in FORMS if question.answered_by(getattr(question, form), question.arch)]
    assert wrong == []
