"""What a device promises: load a kernel, launch it over buffers, report what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kbserver.devices.buffers import SharedBuffer

if TYPE_CHECKING:
    from kbserver.toolchain.build import Build


@dataclass(frozen=True)
class Code:
    """A compiled kernel: the assembly text of its build, which symbol of it to launch, and the target.

    image: the code object of that text, where one was given.
    """

    assembly: str
    entry: str
    arch: str
    image: bytes | None = None

    @classmethod
    def of(cls, built: Build, entry: str, arch: str) -> Code:
        """Return a kernel of a build by its symbol or its C++ name. Raises UsageError when several have that name."""
        from kbserver.toolchain.names import symbol_in  # workers read this module, and never look for a name

        return cls(built.assembly_text, symbol_in(built.assembly_text, entry), arch, built.image)


@dataclass(frozen=True)
class Launch:
    """One launch. `arguments` are names of buffers or (type, number) pairs such as ("i32", 8).

    order: the order in which the wavefronts of a workgroup take turns. poison: fill registers and LDS with NaN before
    each workgroup. fuel: instructions that a wavefront may spend in loops. All three mean nothing to a GPU.
    """

    arguments: tuple[str | tuple[str, int | float], ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds_bytes: int = 0
    order: str = "forward"
    seed: int = 0
    poison: bool = True
    fuel: int = 1 << 28
    threads: int = 1


@dataclass(frozen=True)
class Support:
    """How many of the kernel's instructions the device can execute, and which it cannot."""

    instructions: int
    supported: int
    missing: tuple[Mapping[str, Any], ...] = ()
    """mnemonic, text, line of the assembly, source place, count: each mnemonic once."""


@dataclass(frozen=True)
class LoadedInfo:
    """What loading found out. `arguments` counts those that a launch passes. Times in seconds of wall clock."""

    support: Support
    arguments: int
    lds_bytes: int
    has_atomics: bool
    translate_s: float
    compile_s: float
    cached: bool
    host: str


@dataclass(frozen=True)
class DeviceFinding:
    """Something that a launch did wrong, as the device saw it. `count` launches, lanes or rounds, as `kind` says.

    severity: error; warning for what may be a fault and cannot be decided here; note for what decides nothing.
    """

    kind: str
    count: int
    message: str
    where: str | None = None
    severity: str = "error"


@dataclass(frozen=True)
class LaunchReport:
    """How a launch went; the results are in its buffers."""

    wall_s: float
    waves: int
    wave_instructions: int
    findings: tuple[DeviceFinding, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class Checked:
    """What the checks of accesses and of unwritten memory found on one launch, and on how much of it they looked.

    lost: accesses that were not looked at, for lack of room. Times in seconds of wall clock.
    """

    checks: tuple[str, ...]
    findings: tuple[DeviceFinding, ...]
    workgroups: int
    checked: int
    accesses: int
    lost: int
    compile_s: float
    wall_s: float


class Checks(Protocol):
    """A kernel that is being prepared for checking, beside the one that is launched. Close it."""

    def check(self, launch: Launch, buffers: Sequence[SharedBuffer], sample: int | None) -> Checked:
        """Check `sample` workgroups of the launch, all of them for None; buffers keep what they hold.

        Raises what a launch raises.
        """

    def close(self) -> None: ...


class Loaded(Protocol):
    """A kernel on a device. Close it: a process or device memory may hang on it."""

    info: LoadedInfo

    def launch(self, launch: Launch, buffers: Sequence[SharedBuffer]) -> LaunchReport:
        """Run the kernel once.

        Raises UsageError for a launch that hardware would refuse, TimedOut for a spent loop budget or wall-clock
        limit, EngineCrashed when the process that runs the kernel died.
        """

    def close(self) -> None: ...


class Device(Protocol):
    """A place that executes machine code."""

    name: str

    def load(self, code: Code, *, buffer_bytes: int, wall_s: float) -> Loaded:
        """Prepare a kernel that will be given `buffer_bytes` of buffers, within `wall_s` seconds for everything.

        Raises UnsupportedInstruction naming the first instruction that the device lacks, and Unavailable when this
        machine cannot execute at all.
        """
