"""Recorded devices: `gpu_arch/rocminfo/*.yaml`, what rocminfo reported for one board of each product."""

from __future__ import annotations

from pathlib import Path

from kbserver.core.errors import ContentError, UnknownName
from kbserver.core.model import Record, SourceRef
from kbserver.core.paths import current_roots
from kbserver.core.sources import cite
from kbserver.core.targets import targets
from kbserver.core.yamlio import load_yaml
from kbserver.hardware.rocminfo import Agent, Pool

RECORDS_FOLDER = "gpu_arch/rocminfo"


class DeviceRecord(Record):
    """One recorded GPU with its source and what to know about it."""

    product: str
    agent: Agent
    source: SourceRef
    note: str


def load_record(product: str) -> DeviceRecord:
    """Return the record of a product. Raises UnknownName when there is no such product or no record of it."""
    name = targets().product(product).name
    folder = current_roots().content / RECORDS_FOLDER
    path = folder / f"{name.lower().replace(' ', '')}.yaml"
    if not path.is_file():
        raise UnknownName("device record", name, [file.stem.upper() for file in folder.glob("*.yaml")])
    return _read(path)


def _read(path: Path) -> DeviceRecord:
    data = load_yaml(path)
    try:
        reported = dict(data["reported"])
        pools = (
            Pool(segment="GLOBAL; FLAGS: COARSE GRAINED", size_bytes=reported.pop("memory_bytes")),
            Pool(segment="GROUP", size_bytes=reported.pop("lds_bytes")),
        )
        agent = Agent(kind="GPU", clock_reported=reported.pop("clock_mhz"), pools=pools, **reported)
        source = cite(data["source"]["id"], data["source"]["locator"], where=str(path))
        return DeviceRecord(product=data["product"], agent=agent, source=source, note=data["note"])
    except (KeyError, TypeError, ValueError) as error:
        raise ContentError(f"device record is malformed: {error!r}", where=str(path)) from None
