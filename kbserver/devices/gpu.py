"""GPUs as devices: HIP for AMD's, CUDA to cross-check numerics and harness. Kernels run in a process of their own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kbserver.core.errors import EngineCrashed, LaunchFailed, NoDevice, TimedOut, UsageError
from kbserver.devices.buffers import SharedBuffer
from kbserver.devices.child import Child
from kbserver.devices.gpu_api import Identity
from kbserver.devices.interface import Code, Launch, LaunchReport, LoadedInfo, Support

WORKER = "kbserver.devices.gpu_worker"
LAUNCH_LIMIT_S = 20.0
"""A launch of a test problem that runs longer than this hangs: the published problem takes milliseconds."""
_KEPT_VARIABLES = (
    "ROCM_PATH", "HIP_PATH", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION", "HSA_XNACK", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH", "HOME", "TMPDIR",
)  # fmt: skip
RECOVER = "the GPU may need time, or a reset by its owner, to recover: look at rocm-smi or nvidia-smi"


class GpuProcess:
    """The process that drives one GPU: loads kernels under names, moves buffers, runs plans. Close it."""

    def __init__(self, kind: str, *, wall_s: float, ordinal: int = 0) -> None:
        """Raises NoDevice with the driver's reason."""
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        self._child = Child(WORKER, where=kind, wall_s=wall_s, engine="the GPU's driver", environment=kept)
        self._attached: dict[int, str] = {}
        try:
            self.identity = Identity(**self._child.ask({"do": "open", "kind": kind, "ordinal": ordinal}))
        except NoDevice as error:
            self.close()
            raise NoDevice(
                error.message,
                where=f"--device {kind}",
                hint="`kb doctor` looks at drivers and devices; `kb verify --device emulator` needs no GPU",
            ) from None
        except BaseException:
            self.close()
            raise

    def load(self, slot: str, image: bytes, entry: str) -> dict[str, int]:
        """Load a kernel under a name; returns lds_bytes, registers and scratch_bytes as the driver counts them."""
        with tempfile.TemporaryFile() as file:
            file.write(image)
            file.flush()
            return self._ask({"do": "load", "slot": slot, "entry": entry}, [file.fileno()])

    def load_library(self, slot: str, call: Mapping[str, Any]) -> str:
        """Make a library's function the kernel of a name; returns what it is."""
        return self._ask({"do": "load_library", "slot": slot, "call": dict(call)})["about"]

    def attach(self, buffers: Sequence[SharedBuffer]) -> list[str]:
        """Give buffers their device memory; returns the key of each. A buffer that has one keeps it."""
        for one in buffers:
            if id(one) not in self._attached:
                key = f"b{len(self._attached)}"
                self._ask({"do": "attach", "buffers": {key: asdict(one.layout)}}, [one.fd])
                self._attached[id(one)] = key
        return [self._attached[id(one)] for one in buffers]

    def scratch(self, size: int) -> None:
        self._ask({"do": "scratch", "bytes": size})

    def upload(self, keys: Sequence[str]) -> None:
        self._ask({"do": "upload", "keys": list(keys)})

    def download(self, keys: Sequence[str]) -> None:
        self._ask({"do": "download", "keys": list(keys)})

    def run(
        self, plan: Sequence[Mapping[str, Any]], *, spin_ms: float = 0.0, limit_s: float | None = None,
        telemetry: bool = False,
    ) -> tuple[list[float], dict[str, Any] | None]:  # fmt: skip
        """Do the steps of a plan (see gpu_session); returns their milliseconds and the state of the device after."""
        answer = self._ask(
            {
                "do": "run",
                "plan": [dict(step) for step in plan],
                "spin_ms": spin_ms,
                "limit_s": limit_s or LAUNCH_LIMIT_S,
                "telemetry": telemetry,
            }
        )
        return answer["ms"], answer["state"]

    def _ask(self, message: dict[str, Any], fds: Sequence[int] = ()) -> Any:
        """Ask the process. A kernel that hangs or kills it is the kernel's fault, and the GPU may suffer from it."""
        try:
            return self._child.ask(message, fds)
        except TimedOut as error:
            gone = self._child.kill()
            error.hint = f"{RECOVER}" + ("" if gone else "; the process could not be killed, it waits for the driver")
            error.details["process_killed"] = gone
            raise
        except EngineCrashed as error:
            if message["do"] != "run":
                raise
            # HIP ends the process when a wavefront touches an address that is not mapped.
            raise LaunchFailed(
                f"{error.message}, while the kernel ran",
                where=error.where,
                hint=f"an access outside its buffers, most often; {RECOVER}",
                details=error.details,
            ) from None

    def close(self) -> None:
        self._child.close()


class Gpu:
    """A GPU reached through one driver. `label` says what its figures are."""

    def __init__(self, kind: str, ordinal: int = 0) -> None:
        """Raises NoDevice when there is none."""
        self.name, self._ordinal = kind, ordinal
        process = GpuProcess(kind, wall_s=60.0, ordinal=ordinal)
        process.close()
        self.identity = process.identity

    @property
    def arch(self) -> str:
        return self.identity.arch

    @property
    def label(self) -> str:
        one = self.identity
        text = f"{one.name} ({one.arch}, {one.driver})"
        return text if one.kind == "hip" else f"{text}: a cross-check, no figure of an AMD product"

    def process(self, wall_s: float) -> GpuProcess:
        """Return a new process on this device."""
        return GpuProcess(self.name, wall_s=wall_s, ordinal=self._ordinal)

    def image(self, code: Code) -> bytes:
        """Return what the driver loads. Raises UsageError for code of another target, before anything runs."""
        check_arch(code, self.identity)
        if self.name == "cuda":
            return code.assembly.encode()
        if code.image is not None:
            return code.image
        from kbserver.toolchain.link import code_object

        return code_object(code.assembly, code.arch)

    def load(self, code: Code, *, buffer_bytes: int, wall_s: float) -> LoadedOnGpu:
        """Start a process and load the kernel in it."""
        return LoadedOnGpu(self, code, wall_s)


class LoadedOnGpu:
    """A kernel on a GPU. Use it from one thread, and close it."""

    SLOT = "kernel"

    def __init__(self, device: Gpu, code: Code, wall_s: float) -> None:
        image = device.image(code)
        self._process = device.process(wall_s)
        try:
            found = self._process.load(self.SLOT, image, code.entry)
        except BaseException:
            self._process.close()
            raise
        instructions, arguments, has_atomics = describe(code)
        self.info = LoadedInfo(
            support=Support(instructions, instructions),
            arguments=arguments,
            lds_bytes=found["lds_bytes"],
            has_atomics=has_atomics,
            translate_s=0.0,
            compile_s=0.0,
            cached=False,
            host=device.label,
        )

    def launch(self, launch: Launch, buffers: Sequence[SharedBuffer]) -> LaunchReport:
        keys = self._process.attach(buffers)
        self._process.upload(keys)
        step = step_of(self.SLOT, launch, dict(zip((one.layout.name for one in buffers), keys, strict=True)))
        (ms,), _ = self._process.run([step])
        self._process.download(keys)
        waves = -(-launch.block[0] * launch.block[1] * launch.block[2] // 64)
        groups = launch.grid[0] * launch.grid[1] * launch.grid[2]
        return LaunchReport(wall_s=ms / 1000, waves=groups * waves, wave_instructions=0)

    def close(self) -> None:
        self._process.close()


def step_of(
    slot: str | None, launch: Launch | None, keys: Mapping[str, str], state: str = "as it is"
) -> dict[str, Any]:
    """Return one step of a plan."""
    return {"slot": slot, "launch": asdict(launch) if launch else None, "buffers": dict(keys), "state": state}


def check_arch(code: Code, identity: Identity) -> None:
    """Raise UsageError when the code is for another target than the device is."""
    if code.arch != identity.arch:
        raise UsageError(
            f"the build is for {code.arch}, the device is {identity.arch} ({identity.name})",
            where="arch",
            hint=f"--arch {identity.arch}",
            details={"build": code.arch, "device": identity.arch},
        )


def describe(code: Code) -> tuple[int, int, bool]:
    """Return (instructions, arguments, has atomics) of a kernel's text. Raises UsageError when it lacks the kernel."""
    if code.arch.startswith("sm_"):
        from kbserver.toolchain.ptx import describe_ptx

        return describe_ptx(code.assembly, code.entry)
    from kbserver.core.errors import UnknownName
    from kbserver.toolchain.assembly import parse_assembly

    kernels = {function.name: function for function in parse_assembly(code.assembly).kernels}
    if code.entry not in kernels:
        raise UnknownName("kernel", code.entry, kernels)
    function = kernels[code.entry]
    entries = [
        str(entry.get(".value_kind", entry.get("value_kind", ""))) for entry in function.metadata.get("args", ())
    ]
    return (
        len(function.instructions),
        sum(not kind.startswith("hidden_") for kind in entries),
        any("atomic" in item.mnemonic for item in function.instructions),
    )
