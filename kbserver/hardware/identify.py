"""Which product each reported GPU is, decided by its Chip ID alone, and what is missing or odd about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from kbserver.core.model import Record
from kbserver.core.targets import targets
from kbserver.hardware.rocminfo import Agent, Rocminfo, gfx_name, lds_bytes, memory_bytes
from kbserver.hardware.rocminfo_errors import Problem

# No Instinct board runs near 100 GHz: a larger number under "MHz" is kHz, as WSL prints it.
_KHZ_FROM = 100_000


class Gpu(Record):
    """One GPU as reported; None means that the text does not say, never a default."""

    index: int
    """Position among the GPUs of the text, from 0."""
    agent: int | None = None
    name: str | None = None
    marketing_name: str | None = None
    product: str | None = None
    """Decided by the Chip ID; None when that is missing or not in the table."""
    virtual_function: bool | None = None
    arch: str | None = None
    arch_decided_by: str | None = None
    reference: str
    """The target whose facts this GPU is compared with, or why there is none."""
    uuid: str | None = None
    chip_id: str | None = None
    compute_units: int | None = None
    simds_per_cu: int | None = None
    shader_engines: int | None = None
    wavefront_size: int | None = None
    max_waves_per_cu: int | None = None
    max_workgroup_size: int | None = None
    max_clock_mhz: int | None = None
    lds_bytes: int | None = None
    """The GROUP pool: LDS that one workgroup may use."""
    l1_bytes: int | None = None
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    cacheline_bytes: int | None = None
    memory_bytes: int | None = None
    partition: str | None = None
    """What the number of compute units lets one infer about partitions, with the reason."""


def identify(agent: Agent, index: int) -> Gpu:
    """Return the GPU that an agent of kind GPU describes."""
    found = targets().by_chip_id(agent.chip_id) if agent.chip_id else None
    product, virtual = found or (None, None)
    arch, decided_by = gfx_name(agent), "its name" if agent.name == gfx_name(agent) else "its ISA line"
    if arch is None and product is not None:
        arch, decided_by = product.arch, f"chip id {agent.chip_id:#06x} (its name is missing)"
    known = arch in targets().archs
    clock = agent.clock_reported or None
    return Gpu(
        index=index,
        agent=agent.number,
        name=agent.name,
        marketing_name=agent.marketing_name,
        product=product.name if product else None,
        virtual_function=virtual,
        arch=arch,
        arch_decided_by=decided_by if arch else None,
        reference=arch if arch and known else f"no reference data for {arch or 'a GPU without a gfx name'}",
        uuid=agent.uuid,
        chip_id=f"{agent.chip_id:#06x}" if agent.chip_id else None,
        compute_units=agent.compute_units or None,
        simds_per_cu=agent.simds_per_cu or None,
        shader_engines=agent.shader_engines or None,
        wavefront_size=agent.wavefront_size,
        max_waves_per_cu=agent.max_waves_per_cu,
        max_workgroup_size=agent.max_workgroup_size,
        max_clock_mhz=clock // 1000 if clock and clock >= _KHZ_FROM else clock,
        lds_bytes=lds_bytes(agent),
        l1_bytes=agent.l1_bytes,
        l2_bytes=agent.l2_bytes,
        l3_bytes=agent.l3_bytes,
        cacheline_bytes=agent.cacheline_bytes,
        memory_bytes=memory_bytes(agent),
    )


def problems_of(record: Rocminfo, gpus: list[Gpu]) -> list[Problem]:
    """Return what is wrong or missing, the reason for "no GPU" first, one problem a kind with its GPUs."""
    found = list(record.problems)
    if not gpus:
        found.insert(0, _no_gpu(record))
    elif not record.complete:
        found.append(
            Problem(
                code="incomplete_text",
                message="the text is cut or has gaps: what it does not show is not known",
                hint="save the whole output: `rocminfo > rocminfo.txt`",
            )
        )
    agents = [agent for agent in record.agents if agent.kind == "GPU"]
    for code, check, message, hint in _CHECKS:
        hit = [(agent, gpu) for agent, gpu in zip(agents, gpus, strict=True) if check(agent, gpu)]
        if hit:
            details = {message(agent, gpu) for agent, gpu in hit}
            found.append(
                Problem(
                    code=code,
                    message="; ".join(sorted(details)),
                    hint=hint,
                    gpus=tuple(gpu.index for _, gpu in hit),
                )
            )
    found.extend(_shared_uuids(gpus))
    return found


def _no_gpu(record: Rocminfo) -> Problem:
    if record.problems:
        reason, hint = record.problems[0].message, record.problems[0].hint
    else:
        kinds = sorted({agent.kind for agent in record.agents})
        reason = f"only {' and '.join(kinds)} agents are listed"
        hint = "check that the amdgpu driver is loaded, /dev/kfd may be opened, and the container got the device"
    return Problem(code="no_gpu", message=f"no usable GPU: {reason}", hint=hint)


def _shared_uuids(gpus: list[Gpu]) -> Iterator[Problem]:
    by_uuid: dict[str, list[Gpu]] = defaultdict(list)
    for gpu in gpus:
        if gpu.uuid:
            by_uuid[gpu.uuid].append(gpu)
    for uuid, same in by_uuid.items():
        if len(same) > 1:
            yield Problem(
                code="shared_uuid",
                message=f"{len(same)} GPUs share the UUID {uuid}: partitions of one device, or a repeated text",
                hint="tell partitions apart by agent number or BDFID, not by UUID",
                gpus=tuple(gpu.index for gpu in same),
            )


def _other_arch(agent: Agent, gpu: Gpu) -> bool:
    return bool(gpu.product and gpu.arch and targets().product(gpu.product).arch != gpu.arch)


_Check = tuple[str, Callable[[Agent, Gpu], bool], Callable[[Agent, Gpu], str], str]
_CHECKS: tuple[_Check, ...] = (
    (
        "arch_not_stated",
        lambda agent, gpu: gpu.arch is None,
        lambda agent, gpu: "neither a gfx name, an ISA line nor a known chip id is given",
        "look at the line `Name: gfx...` of the agent",
    ),
    (
        "no_reference_data",
        lambda agent, gpu: gpu.arch is not None and gpu.arch not in targets().archs,
        lambda agent, gpu: f"no reference data for {gpu.arch}: its figures are shown as reported and not checked",
        "reference data covers the targets that `kb map` lists",
    ),
    (
        "chip_id_not_stated",
        lambda agent, gpu: gpu.chip_id is None and gpu.arch in targets().archs,
        lambda agent, gpu: "no Chip ID: the product is unknown (neither gfx name nor marketing name decides it)",
        "pass the whole agent record, with its `Chip ID:` line",
    ),
    (
        "unknown_chip_id",
        lambda agent, gpu: gpu.chip_id is not None and gpu.product is None and gpu.arch in targets().archs,
        lambda agent, gpu: f"chip id {gpu.chip_id} is not in the product table: the product is unknown",
        "if you know the board, add its id to gpu_arch/facts/products.yaml",
    ),
    (
        "arch_differs_from_product",
        _other_arch,
        lambda agent, gpu: (
            f"reports {gpu.arch}, but chip id {gpu.chip_id} is {gpu.product}, a {targets().product(gpu.product).arch}"
            if gpu.product
            else ""
        ),
        "an early stepping, or HSA_OVERRIDE_GFX_VERSION is set: build for the target that the device reports",
    ),
    (
        "virtual_function",
        lambda agent, gpu: gpu.virtual_function is True,
        lambda agent, gpu: f"chip id {gpu.chip_id} is a virtual function of {gpu.product}",
        "the host decides partitions and clocks of a virtual function",
    ),
    (
        "lds_not_stated",
        lambda agent, gpu: gpu.lds_bytes is None,
        lambda agent, gpu: "the LDS size is not stated: no readable GROUP pool",
        "pass the whole agent record; for the size by target ask `kb fact lds`",
    ),
    (
        "clock_in_khz",
        lambda agent, gpu: (agent.clock_reported or 0) >= _KHZ_FROM,
        lambda agent, gpu: (
            f"{agent.clock_reported} under the label MHz cannot be: read as kHz, {gpu.max_clock_mhz} MHz"
        ),
        "known of rocminfo under WSL",
    ),
    (
        "garbled_value",
        lambda agent, gpu: bool(agent.garbled),
        lambda agent, gpu: f"unreadable or self-contradicting, so left out: {', '.join(agent.garbled)}",
        "pass the text as rocminfo printed it",
    ),
)
