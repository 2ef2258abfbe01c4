"""The operation `occupancy`: waves per SIMD of a kernel from its register, LDS and workgroup figures."""

from __future__ import annotations

from typing import Annotated

from kbserver.core.errors import UsageError
from kbserver.core.targets import targets
from kbserver.hardware.occupancy import Occupancy
from kbserver.ops.registry import Arg, operation


@operation(name="occupancy", command="occupancy", title="Occupancy of a kernel", toolset="hardware")
def occupancy(
    arch: Annotated[str, Arg("gfx target or product: gfx950, MI300X")],
    vgprs: Annotated[int, Arg("VGPRs per lane, as the compiler reports them")],
    agprs: Annotated[int, Arg("AGPRs (accumulation VGPRs) per lane")] = 0,
    sgprs: Annotated[int, Arg("SGPRs per wave; 0 leaves them out")] = 0,
    lds: Annotated[int, Arg("bytes of LDS per workgroup, static and dynamic")] = 0,
    workgroup: Annotated[int, Arg("threads per workgroup, as launched")] = 256,
) -> Occupancy:
    """Work out how many waves per SIMD a kernel reaches on gfx90a, gfx942 or gfx950, what limits it (vgpr, sgpr, lds,
    waves, workgroups), and what to change for the next step. Use it with the figures of compile_kernel or of a compiler
    remark, and to weigh registers against LDS. It rounds to the hardware's granules, counts whole workgroups, and says
    why the compiler's Occupancy remark can differ.
    """
    from kbserver.hardware.occupancy import occupancy as compute

    gfx, decided_by = targets().resolve(arch)
    if vgprs == 0 and agprs == 0:
        raise UsageError(
            "vgprs is 0: a kernel has at least one VGPR", where="vgprs", hint="take the figure of `kb compile`"
        )
    found = compute(gfx, vgprs, agprs, sgprs, lds, workgroup)
    return found.model_copy(update={"arch_decided_by": decided_by})
