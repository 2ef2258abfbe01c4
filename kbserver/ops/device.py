"""The operation `device_info`: the GPUs of this machine, of a saved rocminfo text, or of our records, checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kbserver.core.errors import UsageError
from kbserver.core.model import Record, Result, SourceRef
from kbserver.hardware.identify import Gpu
from kbserver.hardware.reference import Difference
from kbserver.hardware.rocminfo import Rocminfo
from kbserver.hardware.rocminfo_errors import Problem
from kbserver.ops.registry import Arg, operation


class AgentLine(Record):
    """One agent of the text: its number there, its kind (GPU, CPU, DSP, unknown) and its name."""

    number: int | None
    kind: str
    name: str | None


class DeviceInfo(Result):
    """What a rocminfo text says, checked against the fact table; what it does not say is null."""

    origin: str
    """Where the text came from."""
    runtime_version: str | None
    driver: str | None
    agents: list[AgentLine]
    gpus: list[Gpu]
    problems: list[Problem]
    differences_from_reference: list[Difference]
    repairs: list[str]
    """What was undone in the text: terminal colours, scroll marks, lost newlines."""
    note: str | None = None
    sources: list[SourceRef]


@operation(
    name="device_info",
    command="device",
    title="GPUs of this machine or of a rocminfo text",
    toolset="hardware",
    open_world=True,
    says_no=lambda result: not result.gpus,
)
def device_info(
    path: Annotated[
        str | None,
        Arg(
            "a saved output of rocminfo; `-` reads standard input",
            flags=("--from",),
            metavar="FILE",
            stdin_argument="text",
        ),
    ] = None,
    text: Annotated[str | None, Arg("the output of rocminfo as text")] = None,
    product: Annotated[str | None, Arg("show the recorded rocminfo figures of a product: MI355X")] = None,
) -> DeviceInfo:
    """Identify AMD GPUs from rocminfo: run here, or pass its output as text or file, errors included. Use it before
    building for a machine or when a GPU is not found. Gives product by chip id, arch, CUs, LDS per workgroup, caches,
    clock, partition mode, problems with their usual fix, and each difference from the reference facts with which value
    to trust. What the text does not state is null, never a default. With product it shows a recorded device.
    """
    if sum(value is not None for value in (path, text, product)) > 1:
        raise UsageError("give one of path, text and product", hint="without any, rocminfo is run on this machine")
    if product is not None:
        return _recorded(product)
    if path is not None:
        return _report(_read(path), Path(path).name)
    if text is not None:
        return _report(text, "the text given")
    return _live()


def _live() -> DeviceInfo:
    from kbserver.hardware.live import run_rocminfo, unreadable

    text = run_rocminfo()
    try:
        return _report(text, "rocminfo on this machine")
    except UsageError:
        raise unreadable(text) from None


def _read(path: str) -> str:
    from kbserver.hardware.rocminfo_text import MAX_TEXT_BYTES, decode

    file = Path(path).expanduser()
    try:
        if not file.is_file():  # a device or a pipe may never end
            raise UsageError("no such file" if not file.exists() else "not a regular file", where=path)
        with file.open("rb") as handle:
            data = handle.read(MAX_TEXT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read: {getattr(error, 'strerror', None) or error}", where=path) from None
    return decode(data, path)


def _report(text: str, origin: str) -> DeviceInfo:
    from kbserver.hardware.rocminfo import parse
    from kbserver.hardware.rocminfo_text import MAX_TEXT_BYTES

    if len(text) > MAX_TEXT_BYTES:
        raise UsageError(f"larger than {MAX_TEXT_BYTES >> 20} MiB: not the output of rocminfo", where=origin)
    return _checked(parse(text, origin), origin)


def _recorded(product: str) -> DeviceInfo:
    from kbserver.hardware.device_records import load_record

    record = load_record(product)
    return _checked(
        Rocminfo(agents=(record.agent,), complete=True),
        f"our record of one {record.product}",
        note=record.note,
        source=record.source,
    )


def _checked(said: Rocminfo, origin: str, *, note: str | None = None, source: SourceRef | None = None) -> DeviceInfo:
    from kbserver.hardware.facts import load_facts
    from kbserver.hardware.identify import identify, problems_of
    from kbserver.hardware.reference import differences, partition

    facts = load_facts()
    gpus = [identify(agent, index) for index, agent in enumerate(a for a in said.agents if a.kind == "GPU")]
    gpus = [gpu.model_copy(update={"partition": partition(gpu, facts)}) for gpu in gpus]
    found = differences(gpus, facts)
    cited = {(ref.id, ref.locator): ref for one in found for ref in one.sources}
    return DeviceInfo(
        origin=origin,
        runtime_version=said.runtime_version,
        driver=said.driver,
        agents=[AgentLine(number=a.number, kind=a.kind, name=a.name) for a in said.agents],
        gpus=gpus,
        problems=problems_of(said, gpus),
        differences_from_reference=found,
        repairs=list(said.repairs),
        note=note,
        sources=[*([source] if source else []), *cited.values()],
    )
