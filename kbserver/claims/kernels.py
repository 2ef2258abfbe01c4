"""Kernels of the tasks that a text names, and what is known of them: published figures, work, bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kbserver.claims.sentences import Sentence
from kbserver.claims.world import KernelFigures
from kbserver.runs.task import Task, Variant, tasks

_STEP = re.compile(r"step(\d+)_")


@dataclass(frozen=True)
class Mention:
    """A kernel named at tokens [start, end)."""

    start: int
    end: int
    kernel: KernelFigures


def load_kernels() -> dict[str, KernelFigures]:
    """Return every kernel of the content root's tasks that has published figures."""
    found = {}
    for task in tasks().values():
        for variant in task.variants:
            if variant.published is not None:
                found[variant.name] = _kernel(task, variant)
    return found


def _kernel(task: Task, variant: Variant) -> KernelFigures:
    published = variant.published
    assert published is not None
    sizes = task.dimensions(task.published_shape)
    step = _STEP.match(variant.name)
    return KernelFigures(
        name=variant.name,
        arch=published.arch,
        figures=published.figures.model_dump(exclude_none=True),
        not_reproduced=published.not_reproduced,
        source=f"{published.source}{', ' + published.locator if published.locator else ''}",
        bytes_moved=task.problem.nbytes(sizes),
        variant=int(step[1]) if step else 0,
    )


def mentions(sentence: Sentence, kernels: Mapping[str, KernelFigures], by_step: bool) -> list[Mention]:
    """Return the kernels that a sentence names: by name, or as "Step 3" where the text is about the case."""
    found = []
    words = sentence.words
    steps = {kernel.variant: kernel for kernel in kernels.values() if kernel.variant}
    for place, word in enumerate(words):
        kernel = kernels.get(word.removeprefix("kernel:"))
        if kernel is not None:
            found.append(Mention(place, place + 1, kernel))
        elif by_step and word == "step" and place + 1 < len(words) and words[place + 1].isdigit():
            kernel = steps.get(int(words[place + 1][:3]))
            if kernel is not None:
                found.append(Mention(place, place + 2, kernel))
        elif by_step and re.fullmatch(r"step[1-9]", word) and int(word[4:]) in steps:
            found.append(Mention(place, place + 1, steps[int(word[4:])]))
    return found


def is_about_case(text: str, kernels: Mapping[str, KernelFigures]) -> bool:
    """True when a text names one of the kernels in full: then its steps are theirs."""
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in kernels)
