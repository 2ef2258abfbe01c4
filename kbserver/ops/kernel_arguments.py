"""Arguments that operations on a kernel share: which kernel, of which task, on which shape, by how many threads."""

from __future__ import annotations

from typing import Annotated

from kbserver.ops.registry import Arg

KernelName = Annotated[
    str | None,
    Arg(
        "A kernel by name (of kernels/ or reference_kernels/), or your own file.",
        positional=True,
        file_argument="path",
    ),
]
KernelPath = Annotated[str | None, Arg("Your own kernel: source, assembly text (.s) or code object (.co, .hsaco).")]
TaskFile = Annotated[
    str | None, Arg("Task file that says what is computed; default: the one that has the variant.", metavar="FILE")
]
AsVariant = Annotated[
    str | None,
    Arg(
        "The variant whose entry symbol, arguments, layout and launch your file has.",
        flags=("--as",),
        metavar="VARIANT",
    ),
]
ShapeName = Annotated[str | None, Arg("A shape of the task, such as small or paper; default: tiny, or its first.")]
TargetName = Annotated[
    str | None, Arg("Target or product: gfx942, gfx950, MI300X, ...; default gfx950.", flags=("--arch", "-a"))
]
HostThreads = Annotated[int | None, Arg("Host threads; default: all that this process may use.")]
