"""The driver of a GPU through ctypes: HIP's libamdhip64 and CUDA's libcuda have one shape, and two tables of names.

Only what running one kernel needs. Every call is checked; a failure is a `DriverError` with the driver's own name for
it. Nothing here knows of tasks, buffers or processes.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Mapping
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_void_p
from dataclasses import dataclass

from kbserver.core.libraries import candidates

NOT_READY = 600
NO_DEVICE = 100
SHARED_BYTES, LOCAL_BYTES, REGISTERS = 1, 3, 4
"""Attributes of a function; the numbers are the same in both APIs."""
POLL_S = 0.0002


@dataclass(frozen=True)
class Flavour:
    """What the two APIs call the same thing."""

    kind: str
    names: Mapping[str, str]
    end_of_extra: int
    """Word that ends the list of launch options; a pointer to the arguments is option 1, their size option 2."""
    no_driver: str


HIP = Flavour(
    "hip",
    {
        "init": "hipInit", "count": "hipGetDeviceCount", "device": "hipDeviceGet", "name": "hipDeviceGetName",
        "memory": "hipDeviceTotalMem", "bus": "hipDeviceGetPCIBusId", "version": "hipDriverGetVersion",
        "malloc": "hipMalloc", "free": "hipFree", "upload": "hipMemcpyHtoD", "download": "hipMemcpyDtoH",
        "copy": "hipMemcpyDtoDAsync", "fill": "hipMemsetD8Async", "synchronize": "hipDeviceSynchronize",
        "stream": "hipStreamCreateWithFlags", "stream_wait": "hipStreamSynchronize",
        "event": "hipEventCreateWithFlags", "record": "hipEventRecord", "query": "hipEventQuery",
        "elapsed": "hipEventElapsedTime", "module": "hipModuleLoadData", "function": "hipModuleGetFunction",
        "unload": "hipModuleUnload", "attribute": "hipFuncGetAttribute", "launch": "hipModuleLaunchKernel",
        "last_error": "hipGetLastError",
    },
    3,
    "no libamdhip64 (the HIP runtime of ROCm)",
)  # fmt: skip
CUDA = Flavour(
    "cuda",
    {
        "init": "cuInit", "count": "cuDeviceGetCount", "device": "cuDeviceGet", "name": "cuDeviceGetName",
        "memory": "cuDeviceTotalMem_v2", "bus": "cuDeviceGetPCIBusId", "version": "cuDriverGetVersion",
        "malloc": "cuMemAlloc_v2", "free": "cuMemFree_v2", "upload": "cuMemcpyHtoD_v2", "download": "cuMemcpyDtoH_v2",
        "copy": "cuMemcpyDtoDAsync_v2", "fill": "cuMemsetD8Async", "synchronize": "cuCtxSynchronize",
        "stream": "cuStreamCreate", "stream_wait": "cuStreamSynchronize",
        "event": "cuEventCreate", "record": "cuEventRecord", "query": "cuEventQuery",
        "elapsed": "cuEventElapsedTime", "module": "cuModuleLoadData", "function": "cuModuleGetFunction",
        "unload": "cuModuleUnload", "attribute": "cuFuncGetAttribute", "launch": "cuLaunchKernel",
    },
    0,
    "no libcuda (the driver of NVIDIA GPUs)",
)  # fmt: skip
FLAVOURS = {flavour.kind: flavour for flavour in (HIP, CUDA)}

_ARGUMENTS = {
    "init": (c_uint,), "count": (c_void_p,), "device": (c_void_p, c_int), "name": (c_char_p, c_int, c_int),
    "memory": (c_void_p, c_int), "bus": (c_char_p, c_int, c_int), "version": (c_void_p,),
    "malloc": (c_void_p, c_size_t), "free": (c_void_p,), "upload": (c_void_p, c_void_p, c_size_t),
    "download": (c_void_p, c_void_p, c_size_t), "copy": (c_void_p, c_void_p, c_size_t, c_void_p),
    "fill": (c_void_p, c_ubyte, c_size_t, c_void_p), "synchronize": (), "stream": (c_void_p, c_uint),
    "stream_wait": (c_void_p,), "event": (c_void_p, c_uint), "record": (c_void_p, c_void_p), "query": (c_void_p,),
    "elapsed": (c_void_p, c_void_p, c_void_p), "module": (c_void_p, c_void_p),
    "function": (c_void_p, c_void_p, c_char_p), "unload": (c_void_p,), "attribute": (c_void_p, c_int, c_void_p),
    "launch": (c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p), "last_error": (),
}  # fmt: skip


class NoDriver(Exception):
    """There is no driver library here, or it has no usable device; the text says what was tried."""


class DriverError(Exception):
    """A call that the driver refused or that failed: its name for the error, the number, and which call."""

    def __init__(self, call: str, number: int, name: str, text: str) -> None:
        super().__init__(f"{call}: {name} ({number}), {text}")
        self.call, self.number, self.name = call, number, name


class NotFinished(Exception):
    """A launch is still running when its time is over."""


@dataclass(frozen=True)
class Identity:
    """What the driver says about the device. `arch` is gfx942, sm_90, ...; `features` what the target id adds."""

    kind: str
    name: str
    arch: str
    features: str
    memory_bytes: int
    bus: str
    driver: str
    library: str
    compute_units: int


class GpuApi:
    """One device of one driver, chosen and ready. Use it from the thread that made it."""

    def __init__(self, kind: str, ordinal: int = 0) -> None:
        """Raises NoDriver when this machine has no such device."""
        self.flavour = FLAVOURS[kind]
        self._library, self._path = _open(self.flavour)
        for short, name in self.flavour.names.items():
            try:
                function = getattr(self._library, name)
            except AttributeError:
                raise NoDriver(f"{self._path} has no {name}: too old, or not the library that it seems") from None
            function.argtypes, function.restype = _ARGUMENTS[short], c_int
        try:
            self.call("init", 0)
            count = c_int()
            self.call("count", byref(count))
        except DriverError as error:
            raise NoDriver(f"{self._path} finds no device: {error}") from None
        if ordinal >= count.value:
            raise NoDriver(f"{self._path} finds {count.value} devices")
        handle = c_int()
        self.call("device", byref(handle), ordinal)
        self._device = handle.value
        self._enter(ordinal)
        self.identity = self._identify()
        stream = c_void_p()
        self.call("stream", byref(stream), 1)  # non-blocking: the default stream does not hold it up
        self.stream = stream.value

    def call(self, short: str, *arguments: object) -> None:
        """Call a function by its short name. Raises DriverError."""
        number = self._number(short, *arguments)
        if number:
            raise self.error(short, number)

    def _number(self, short: str, *arguments: object) -> int:
        return int(getattr(self._library, self.flavour.names[short])(*arguments))

    def error(self, short: str, number: int) -> DriverError:
        """Return the error of a call, with the driver's words."""
        name, text = self._words(number)
        return DriverError(self.flavour.names[short], number, name, text)

    def _words(self, number: int) -> tuple[str, str]:
        if self.flavour.kind == "hip":
            texts = []
            for function in (self._library.hipGetErrorName, self._library.hipGetErrorString):
                function.restype, function.argtypes = c_char_p, (c_int,)
                texts.append((function(number) or b"?").decode("utf-8", "replace"))
            return texts[0], texts[1]
        texts = []
        for function in (self._library.cuGetErrorName, self._library.cuGetErrorString):
            found = c_char_p()
            function.argtypes = (c_int, c_void_p)
            function(number, byref(found))
            texts.append((found.value or b"?").decode("utf-8", "replace"))
        return texts[0], texts[1]

    def _enter(self, ordinal: int) -> None:
        if self.flavour.kind == "hip":
            self._check(self._library.hipSetDevice(c_int(ordinal)), "hipSetDevice")
            return
        context = c_void_p()
        retain = self._library.cuDevicePrimaryCtxRetain
        retain.argtypes = (c_void_p, c_int)
        # The primary context is the one that libraries use: their work and ours share the device's memory.
        self._check(retain(byref(context), self._device), "cuDevicePrimaryCtxRetain")
        self._library.cuCtxSetCurrent.argtypes = (c_void_p,)
        self._check(self._library.cuCtxSetCurrent(context), "cuCtxSetCurrent")

    def _check(self, number: int, name: str) -> None:
        if number:
            raise DriverError(name, number, *self._words(number))

    def _identify(self) -> Identity:
        name, bus = ctypes.create_string_buffer(256), ctypes.create_string_buffer(64)
        self.call("name", name, len(name), self._device)
        self.call("bus", bus, len(bus), self._device)
        memory, version = c_size_t(), c_int()
        self.call("memory", byref(memory), self._device)
        self.call("version", byref(version))
        arch, features, units = self._hip_target() if self.flavour.kind == "hip" else self._cuda_target()
        return Identity(
            kind=self.flavour.kind,
            name=name.value.decode("utf-8", "replace"),
            arch=arch,
            features=features,
            memory_bytes=memory.value,
            bus=bus.value.decode("ascii", "replace").lower(),
            driver=_version_text(self.flavour.kind, version.value),
            library=self._path,
            compute_units=units,
        )

    def _hip_target(self) -> tuple[str, str, int]:
        """Return (gfx name, features, compute units).

        The properties are a structure whose layout changes between ROCm versions; its target id is the only text in
        it that looks like one.
        """
        properties = ctypes.create_string_buffer(8192)
        function = getattr(self._library, "hipGetDevicePropertiesR0600", None) or self._library.hipGetDeviceProperties
        function.argtypes = (c_void_p, c_int)
        self._check(function(properties, self._device), "hipGetDeviceProperties")
        found = re.search(rb"(gfx[0-9a-f]{3,5})((?::[a-z]+[+-])*)\0", properties.raw)
        if not found:
            raise NoDriver(f"{self._path} does not say which target the device is")
        units = c_int()
        function = self._library.hipDeviceGetAttribute
        function.argtypes = (c_void_p, c_int, c_int)
        self._check(function(byref(units), 63, self._device), "hipDeviceGetAttribute")  # MultiprocessorCount
        return found[1].decode(), found[2].decode().lstrip(":"), units.value

    def _cuda_target(self) -> tuple[str, str, int]:
        values = []
        function = self._library.cuDeviceGetAttribute
        function.argtypes = (c_void_p, c_int, c_int)
        for attribute in (75, 76, 16):  # compute capability major, minor; multiprocessors
            value = c_int()
            self._check(function(byref(value), attribute, self._device), "cuDeviceGetAttribute")
            values.append(value.value)
        return f"sm_{values[0]}{values[1]}", "", values[2]

    def load(self, image: bytes, entry: str) -> tuple[int, int]:
        """Return (module, function) of a code object or PTX text. Raises DriverError."""
        module, function = c_void_p(), c_void_p()
        self.call("module", byref(module), ctypes.c_char_p(image))
        self.call("function", byref(function), module, entry.encode())
        return module.value or 0, function.value or 0

    def attribute(self, function: int, which: int) -> int:
        """Return an attribute of a function, such as SHARED_BYTES."""
        value = c_int()
        self.call("attribute", byref(value), which, function)
        return value.value

    def allocate(self, size: int) -> int:
        """Return the address of `size` bytes of device memory."""
        address = c_void_p()
        self.call("malloc", byref(address), size)
        return address.value or 0

    def event(self) -> int:
        """Return a new event that keeps time."""
        event = c_void_p()
        self.call("event", byref(event), 0)
        return event.value or 0

    def launch(self, function: int, grid: tuple[int, ...], block: tuple[int, ...], lds: int, arguments: bytes) -> None:
        """Put a launch on the stream. Raises DriverError when the driver refuses it."""
        packed = ctypes.create_string_buffer(arguments, len(arguments))
        size = c_size_t(len(arguments))
        extra = (c_void_p * 5)(1, ctypes.cast(packed, c_void_p), 2, ctypes.cast(byref(size), c_void_p),
                               self.flavour.end_of_extra)  # fmt: skip
        self.call("launch", function, *grid, *block, lds, self.stream, None, ctypes.cast(extra, c_void_p))
        if "last_error" in self.flavour.names:
            # HIP keeps the error of a launch that it could not start apart from the call's own status.
            self.call("last_error")

    def wait(self, event: int, limit_s: float) -> None:
        """Wait until an event has happened. Raises NotFinished after the limit, DriverError when the work failed."""
        deadline = time.monotonic() + limit_s
        while True:
            number = self._number("query", event)
            if number == 0:
                return
            if number != NOT_READY:
                raise self.error("query", number)
            if time.monotonic() > deadline:
                raise NotFinished
            time.sleep(POLL_S)

    def elapsed_ms(self, start: int, stop: int) -> float:
        """Return the milliseconds between two events that have happened."""
        value = c_float()
        self.call("elapsed", byref(value), start, stop)
        return value.value


def _version_text(kind: str, number: int) -> str:
    if kind == "cuda":
        return f"CUDA {number // 1000}.{number % 1000 // 10}"
    return f"HIP {number // 10_000_000}.{number // 100_000 % 100}.{number % 100_000}"


def _open(flavour: Flavour) -> tuple[ctypes.CDLL, str]:
    """Return the first library that loads, and its path. Raises NoDriver with the reasons of the others."""
    refused = []
    for path in candidates(flavour.kind):
        try:
            return ctypes.CDLL(path), path
        except OSError as error:
            refused.append(str(error))
    raise NoDriver(f"{flavour.no_driver}: {'; '.join(refused[:3])}")
