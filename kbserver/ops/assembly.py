"""`inspect_assembly` (`kb asm`): the machine code of a build, searched by text, source line or kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kbserver.core.errors import UsageError
from kbserver.core.model import Record, Result
from kbserver.core.targets import features_of
from kbserver.ops.registry import Arg, operation

if TYPE_CHECKING:
    from kbserver.toolchain.assembly import Function
    from kbserver.toolchain.build import Build

MAX_LINES = 1000
MAX_TEXT = 240
MAX_PATTERN = 200
_DEBUG_LABELS = (".Ltmp", ".Lfunc")


class AssemblyLine(Record):
    """One instruction. `n` is its line in the assembly text, `label` the block it stands in."""

    n: int
    label: str | None
    text: str
    source: str | None


class AssemblyListing(Result):
    """The instructions that fit the question, from the `start`-th on; `total` counts all that fit."""

    build_id: str
    arch: str
    decided_by: str
    compiler: str
    kernel: str | None
    kernels: list[str]
    lines: list[AssemblyLine]
    total: int
    start: int
    truncated: bool
    next_start: int | None


@operation(
    name="inspect_assembly",
    command="asm",
    title="Read the machine code of a build",
    toolset="compile",
    read_only=False,
)
def inspect_assembly(
    name: Annotated[
        str | None,
        Arg(
            "A kernel of the case study, or a build id; on the command line also a file.",
            positional=True,
            file_argument="path",
        ),
    ] = None,
    build: Annotated[str | None, Arg("A build id that compile_kernel gave.")] = None,
    path: Annotated[
        str | None,
        Arg("A kernel source, compiled first; assembly text (.s); or a code object (.co, .hsaco), disassembled."),
    ] = None,
    arch: Annotated[
        str | None, Arg("Target of a kernel given by name or path (default gfx950).", flags=("--arch", "-a"))
    ] = None,
    grep: Annotated[
        str | None, Arg("Text to find, case ignored: a|b finds either, * stands for anything.", flags=("--grep", "-g"))
    ] = None,
    source_line: Annotated[int | None, Arg("Only instructions of this line of the kernel source.")] = None,
    kernel: Annotated[
        str | None, Arg("Only this function: its symbol, or its C++ name: scale, ns::scale, scale<float>.")
    ] = None,
    start: Annotated[int, Arg("First instruction to show among those that fit, from 1.")] = 1,
    limit: Annotated[int, Arg("How many to show, at most 1000.", flags=("--limit", "-n"))] = 200,
) -> AssemblyListing:
    """Show the machine instructions of a build with the source line of each: all, those that hold a text (grep), or
    those of one source line. Give a build id of compile_kernel or the name of a kernel of the case study. Use it to see
    what the compiler made of a line, to count waits or no-ops, or to check that an instruction is used. Long answers
    are cut: total says how many fit, next_start where to go on.
    """  # fmt: skip
    from kbserver.toolchain.assembly import parse_assembly
    from kbserver.toolchain.names import find_symbol
    from kbserver.toolchain.ready import KIND as GIVEN

    if start < 1 or limit < 1:
        raise UsageError("start and limit count from 1", where="start" if start < 1 else "limit")
    built, decided_by = _find(name, build, path, arch)
    program = parse_assembly(built.assembly_text)
    if kernel is not None:
        kernel = find_symbol(kernel, program.functions, where="kernel")
    functions = [one for name, one in program.functions.items() if kernel in (None, name)]
    wanted = _matcher(grep)
    # The line tables of code that was given name the files of somebody else's build.
    main = None if built.compiler_kind == GIVEN else built.source
    fitting = [line for function in functions for line in _lines(function, source_line, main) if wanted(line.text)]
    shown = fitting[start - 1 : start - 1 + min(limit, MAX_LINES)]
    after = start + len(shown)
    return AssemblyListing(
        build_id=built.build_id,
        arch=built.arch,
        decided_by=decided_by,
        compiler=f"{built.compiler_kind} {built.compiler_version}",
        kernel=kernel,
        kernels=[function.name for function in program.kernels][:MAX_LINES],
        lines=shown,
        total=len(fitting),
        start=start,
        truncated=after <= len(fitting),
        next_start=after if after <= len(fitting) and shown else None,
    )


def _find(name: str | None, build: str | None, path: str | None, arch: str | None) -> tuple[Build, str]:
    from kbserver.ops.compile import build_origin, find_origin, resolve_target
    from kbserver.toolchain.build import load_build
    from kbserver.toolchain.cache import BUILD_ID
    from kbserver.toolchain.ready import is_ready

    if sum(value is not None for value in (name, build, path)) != 1:
        raise UsageError(
            "give exactly one of name, build and path", hint="kb asm step3_nchw_lds --grep s_nop, kb asm BUILD_ID"
        )
    plain = (name or "").strip()
    if build is None and (plain.startswith("build:") or BUILD_ID.fullmatch(plain)):
        build = plain
    if path is not None and is_ready(path):
        return find_ready(path, arch)
    if build is None:
        target, decided_by = resolve_target(arch)
        origin = find_origin(name=name, path=path, source=None)
        return build_origin(origin, target, features=features_of(arch or "")), decided_by
    built = load_build(build)
    if arch is not None and resolve_target(arch)[0] != built.arch:
        raise UsageError(
            f"build:{built.build_id} was made for {built.arch}, not for {arch[:40]}",
            where="arch",
            hint="leave arch out, or compile the kernel for that target",
        )
    return built, "the build"


def find_ready(path: str, arch: str | None) -> tuple[Build, str]:
    """Return (the build of a file of ready code, how its target was decided)."""
    from kbserver.ops.compile import resolve_target
    from kbserver.toolchain.ready import build_ready, open_ready

    asked, decided_by = resolve_target(arch)
    snapshot, target = open_ready(Path(path).expanduser(), asked if arch is not None else None)
    return build_ready(snapshot, target or asked), "the file" if target and arch is None else decided_by


def _lines(function: Function, source_line: int | None, main: str | None) -> Iterator[AssemblyLine]:
    """Yield the instructions of a function, each with the block label in force; `main`: the file that lines count in.

    Without `main`, a line number means that line of any file.
    """
    starts: dict[int, str] = {}
    for label, index in function.labels.items():
        if not label.startswith(_DEBUG_LABELS):
            starts.setdefault(index, label)
    label = None
    for index, instruction in enumerate(function.instructions):
        label = starts.get(index, label)
        place = instruction.source
        if source_line is not None and (place is None or place.line != source_line or main not in (None, place.file)):
            continue
        yield AssemblyLine(
            n=instruction.line,
            label=label,
            text=instruction.text[:MAX_TEXT],
            source=None if place is None else str(place).replace("../include/", "<kbserver>/", 1),
        )


def _matcher(grep: str | None) -> Callable[[str], bool]:
    """Return a test of a line: `|` parts alternatives, `*` stands for anything. Its time is linear for any pattern."""
    if grep is None:
        return lambda text: True
    if len(grep) > MAX_PATTERN:
        raise UsageError(f"the text to find is longer than {MAX_PATTERN} characters", where="grep")
    alternatives = [
        [part for part in alternative.lower().split("*") if part]
        for alternative in grep.replace("\\|", "|").split("|")
        if alternative.strip("*")
    ]
    if not alternatives:
        raise UsageError("the text to find is empty", where="grep")

    def fits(text: str) -> bool:
        lowered = " ".join(text.lower().split())
        return any(_in_order(parts, lowered) for parts in alternatives)

    return fits


def _in_order(parts: list[str], text: str) -> bool:
    position = 0
    for part in parts:
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True
