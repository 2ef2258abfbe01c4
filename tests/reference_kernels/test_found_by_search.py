"""A reference kernel is found by its technique, by the symptom it cures and by its instructions."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.yamlio import load_yaml
from kbserver.ops import knowledge_map, read, search
from kbserver.runs.measured import task_files
from kbserver.runs.task import load_task

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = load_yaml(Path(__file__).parent / "questions.yaml")
ASKED = [(folder, question) for folder, questions in QUESTIONS.items() for question in questions]
FIRST = 5


def refs_of(folder: str) -> tuple[str, ...]:
    tasks = [load_task(path) for path in task_files(ROOT / "reference_kernels" / folder)]
    kernels = [f"kernel:{variant.name}" for task in tasks for variant in task.variants]
    return (f"reference_kernels/{folder}/README.md", *kernels)


@pytest.mark.parametrize(("folder", "question"), ASKED, ids=[question for _, question in ASKED])
def test_a_question_finds_the_kernel(folder: str, question: str) -> None:
    hits = [hit.ref for hit in search(query=question, limit=FIRST).hits]
    assert any(ref.startswith(refs_of(folder)) for ref in hits), hits


def test_every_folder_is_on_the_map_and_opens_by_its_name() -> None:
    (topic,) = [one for one in knowledge_map().topics if one.id == "reference-kernels"]
    folders = sorted(path.parent.name for path in (ROOT / "reference_kernels").glob("*/task.yaml"))
    assert sorted(topic.refs) == [f"reference_kernels/{name}/README.md" for name in folders]
    for name in folders:
        assert read(ref=f"kernel:{name}").text
