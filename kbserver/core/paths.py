"""Content root and workspace: where knowledge is read and where users' files are written.

The content root is the folder with `index.yaml`: `--root`, else `KB_ROOT`, else upward from the current folder, else
the copy that ships in the wheel. The workspace holds lessons, builds and caches that users write: `--workspace`, else
`KB_WORKSPACE`, else `.kb/` beside a writable content root that is not the wheel's, else the user data folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from kbserver.core.errors import UnresolvedRef, UsageError

PACKAGE_CONTENT = Path(__file__).resolve().parent.parent / "_content"
INDEX_FILE = "index.yaml"


@dataclass(frozen=True)
class Roots:
    """The two folders that every operation works on, and how the content root was decided."""

    content: Path
    workspace: Path
    decided_by: str

    @property
    def lessons(self) -> Path:
        return self.workspace / "lessons"

    @property
    def builds(self) -> Path:
        return self.workspace / "builds"

    @property
    def runs(self) -> Path:
        return self.workspace / "runs"

    @property
    def cache(self) -> Path:
        return self.workspace / "cache"


def find_roots(root: str | Path | None = None, workspace: str | Path | None = None) -> Roots:
    """Decide content root and workspace. Raises UsageError when a named root has no `index.yaml`."""
    content, decided_by = _find_content(root)
    chosen = workspace or os.environ.get("KB_WORKSPACE")
    if chosen:
        return Roots(content, Path(chosen).expanduser().resolve(), decided_by)
    if content != PACKAGE_CONTENT and os.access(content, os.W_OK):
        return Roots(content, content / ".kb", decided_by)
    import platformdirs  # imported here: only installed copies need it, and start-up time counts

    return Roots(content, Path(platformdirs.user_data_dir("kbserver", appauthor=False)), decided_by)


def _find_content(root: str | Path | None) -> tuple[Path, str]:
    for value, decided_by in ((root, "--root"), (os.environ.get("KB_ROOT"), "KB_ROOT")):
        if value:
            path = Path(value).expanduser().resolve()
            if not (path / INDEX_FILE).is_file():
                raise UsageError(
                    f"no {INDEX_FILE} in the content root given by {decided_by}",
                    where=str(path),
                    hint="name the folder that holds index.yaml, or leave it out to use the shipped content",
                )
            return path, decided_by
    here = Path.cwd()
    for folder in (here, *here.parents):
        # Another project may have an index.yaml of its own: ours stands beside gpu_arch/.
        if (folder / INDEX_FILE).is_file() and (folder / "gpu_arch").is_dir():
            return folder, "found upward from the current folder"
    if (PACKAGE_CONTENT / INDEX_FILE).is_file():
        return PACKAGE_CONTENT, "shipped with the package"
    checkout = PACKAGE_CONTENT.parent.parent
    if (checkout / INDEX_FILE).is_file():
        return checkout, "the checkout that the package runs from"
    raise UsageError(f"no content found: no {INDEX_FILE} here, above, or in the package", hint="pass --root")


_current: ContextVar[Roots | None] = ContextVar("kbserver_roots", default=None)
_process_default: Roots | None = None


def set_process_roots(roots: Roots) -> None:
    """Fix the roots of this process (the CLI and the server do so once, also for their worker threads)."""
    global _process_default
    _process_default = roots


def current_roots() -> Roots:
    """Return the roots in force: those of `use_roots`, else the process's, else found anew."""
    return _current.get() or _process_default or find_roots()


@contextmanager
def use_roots(roots: Roots) -> Iterator[Roots]:
    """Work on other roots inside a `with` block."""
    token = _current.set(roots)
    try:
        yield roots
    finally:
        _current.reset(token)


def inside(base: Path, relative: str) -> Path:
    """Return `base/relative` when it stays under `base` after links are followed.

    Raises UnresolvedRef for absolute paths, `..`, links that lead outside and NUL bytes, without echoing the target.
    """
    if not relative or "\x00" in relative or "\\" in relative or relative.startswith("/"):
        raise UnresolvedRef("not a path inside the content", hint="refs look like gpu_arch/cdna4/lds.md")
    base = base.resolve()
    try:
        path = (base / relative).resolve()
    except (OSError, RuntimeError, ValueError):
        raise UnresolvedRef("not a path inside the content") from None
    if not path.is_relative_to(base):
        raise UnresolvedRef("not a path inside the content", hint="refs look like gpu_arch/cdna4/lds.md")
    return path
