"""The files of questions can be measured: each is well formed, and no thread serves two of them.

Nothing here ranks anything. The head of each file says whether its questions were unseen when they were measured.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.yamlio import load_yaml
from tests.retrieval.runner import FORMS, load_questions

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("threads_*.yaml"))
STRICT = [path for path in FILES if path.stem not in ("threads_tune", "threads_held")]
"""The two older files have patterns that some questions fulfil themselves, and share threads with the recorded ones."""
FIELDS = {"id", "question", "short_query", "arch", "answer", "must_contain", "kind", "source", "answer_source"}
TARGETS = {"gfx90a", "gfx942", "gfx950"}


def named(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_entry_has_all_fields_and_known_targets(path: Path) -> None:
    entries = load_yaml(path)
    assert len(entries) >= 30
    assert [entry["id"] for entry in entries if set(entry) != FIELDS or not all(entry.values())] == []
    assert [entry["id"] for entry in entries if not set(entry["arch"]) <= TARGETS] == []


def test_an_id_stands_for_one_question() -> None:
    ids = [entry["id"] for path in FILES for entry in load_yaml(path)]
    assert len(ids) == len(set(ids))


def test_no_thread_serves_two_files() -> None:
    sources: dict[str, set[str]] = {}
    for path in FILES:
        for entry in load_yaml(path):
            sources.setdefault(entry["source"], set()).add(path.stem)
    assert {source: files for source, files in sources.items() if len(files) > 1} == {}


def test_nothing_was_used_in_the_recorded_questions(shared_data: Path) -> None:
    recorded = load_yaml(shared_data / "questions.yaml")
    for field in ("id", "source"):
        ours = {entry[field] for path in STRICT for entry in load_yaml(path)}
        assert ours & {entry.get(field) for entry in recorded} == set()


@pytest.mark.parametrize("path", STRICT, ids=named)
def test_the_right_answer_fulfils_the_patterns_and_the_question_alone_does_not(path: Path) -> None:
    """Patterns that the asker's own words fulfil would take any text on the topic for an answer."""
    wrong = []
    for question, entry in zip(load_questions(path), load_yaml(path), strict=True):
        asked = "\n".join(getattr(question, form) for form in FORMS)
        if not question.answered_by(f"{asked}\n{entry['answer']}", question.arch):
            wrong.append((question.id, "answer"))
        wrong += [(question.id, form) for form in FORMS if question.answered_by(getattr(question, form), question.arch)]
    assert wrong == []
