"""A library's own kernel as a baseline: PyTorch called over the same device buffers, on the same stream.

Imported by the GPU worker only, when a baseline asks for it. PyTorch shares the device's primary context with us.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kbserver.core.errors import Unavailable, UsageError

Call = Callable[[Mapping[str, Any], int], None]
"""(buffers by name, stream): launches the library's kernel and leaves its result where ours would be."""


class _Interface:
    """A device address as what PyTorch imports without a copy; bfloat16 goes as 16-bit integers."""

    def __init__(self, address: int, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {"data": (address, False), "shape": shape, "typestr": "<i2", "version": 2}


class TorchConv3d:
    """`torch.nn.functional.conv3d` in bfloat16. The result is copied to our output after the window closes."""

    def __init__(self, call: Mapping[str, Any]) -> None:
        import torch

        if not torch.cuda.is_available():
            raise Unavailable("this PyTorch sees no GPU, so it cannot be the baseline", where="against")
        self._torch, self._call = torch, call
        self._views: dict[int, Any] = {}
        self.result: Any = None
        cudnn = torch.backends.cudnn.version()
        runtime = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}, cuDNN {cudnn}"
        self.about = f"torch {torch.__version__} F.conv3d, bfloat16, {runtime}"

    def _view(self, buffer: Any) -> Any:
        if buffer.address not in self._views:
            raw = self._torch.as_tensor(_Interface(buffer.address, buffer.host.layout.shape), device="cuda")
            self._views[buffer.address] = raw.view(self._torch.bfloat16)
        return self._views[buffer.address]

    def __call__(self, buffers: Mapping[str, Any], stream: int) -> None:
        torch, call = self._torch, self._call
        data, weight = self._view(buffers[call["data"]]), self._view(buffers[call["weight"]])
        with torch.inference_mode(), torch.cuda.stream(torch.cuda.ExternalStream(stream)):
            self.result = torch.nn.functional.conv3d(
                data, weight, stride=call["stride"], padding=call["padding"], groups=call["groups"]
            )

    def finish(self, buffers: Mapping[str, Any], stream: int) -> None:
        """Copy the result to where a kernel of ours would have written it."""
        with self._torch.inference_mode(), self._torch.cuda.stream(self._torch.cuda.ExternalStream(stream)):
            self._view(buffers[self._call["output"]]).copy_(self.result)
        self.result = None


_CALLS: dict[str, Callable[[Mapping[str, Any]], Any]] = {"torch.conv3d": TorchConv3d}


def library_kernel(call: Mapping[str, Any]) -> tuple[Any, str]:
    """Return (kernel, what it is) of a library call. Raises Unavailable without the library."""
    if call["function"] not in _CALLS:
        raise UsageError(f"no library call {call['function']!r}", where="against")
    try:
        kernel = _CALLS[call["function"]](call)
    except ImportError as error:
        raise Unavailable(
            f"the baseline needs a library that is not installed: {error}",
            where="against",
            hint="pip install torch, built for this GPU",
        ) from None
    return kernel, kernel.about
