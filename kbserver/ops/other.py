"""The other kernel of a comparison: what `--compare` names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kbserver.toolchain.sources import SOURCE_SUFFIXES, from_file

if TYPE_CHECKING:
    from kbserver.runs.stage import Subject


def looks_like_file(text: str) -> bool:
    """Return whether a value names a file rather than a kernel."""
    return "/" in text or text.endswith(SOURCE_SUFFIXES)


def other_subject(text: str, subject: Subject) -> Subject:
    """Return the kernel that a comparison is with: a file with the subject's launch, or a kernel by its name.

    A name is looked for in the subject's own task first. Raises UnknownName, UsageError.
    """
    from kbserver.ops.verify import find_subject

    wanted = text.strip()
    if looks_like_file(wanted):
        return replace(subject, snapshot=from_file(Path(wanted).expanduser()))
    name = wanted.removeprefix("kernel:")
    own = name in [one.name for one in subject.task.variants]
    task = str(subject.task.path) if own else None
    return find_subject(name, None, task, None, subject.arch)
