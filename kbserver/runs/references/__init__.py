"""References: what a correct kernel computes, in float64 NumPy, and the inputs that it is asked for.

To add a problem: a module `references/NAME.py` with a function `exact`, see `runs.references.module`, and one line in
`SIMPLE`. A task file of somebody else names its own file, `reference: ./my_reference.py`, in the same form; that is
loaded in a process of its own, see `runs.references.foreign`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from kbserver.core.errors import ContentError
from kbserver.runs.references.protocol import Arrays, Channel, Reference, Results
from kbserver.runs.task import Task

__all__ = ["REFERENCES", "SIMPLE", "Arrays", "Channel", "Reference", "Results", "find_reference"]


def _depthwise_conv3d() -> Reference:
    from kbserver.runs.references.depthwise_conv3d import DepthwiseConv3d

    return DepthwiseConv3d()


REFERENCES: dict[str, Callable[[], Reference]] = {"depthwise_conv3d": _depthwise_conv3d}
"""References that are classes of their own."""

SIMPLE = (
    "row_softmax",
    "rms_norm",
    "transpose",
    "gemm_bf16",
    "bucket_sort",
    "bucket_dispatch",
    "paged_attention",
    "stiff_ode",
    "fused_mlp",
    "grouped_conv2d",
)
"""References that are modules of this package with a function `exact`."""


def find_reference(task: Task) -> Reference:
    """Return the reference that a task names; close it. Raises ContentError for one that does not exist."""
    name = task.reference
    if name in REFERENCES:
        return REFERENCES[name]()
    if name in SIMPLE:
        from kbserver.runs.references.module import ModuleReference

        return ModuleReference(import_module(f"kbserver.runs.references.{name}"), name)
    if name.endswith(".py"):
        from kbserver.runs.references.foreign import ForeignReference

        return ForeignReference(task)
    known = ", ".join((*REFERENCES, *SIMPLE))
    raise ContentError(f"there is no reference {name!r}", where=task.name,
                       hint=f"known: {known}; or ./file.py beside the task file")  # fmt: skip
