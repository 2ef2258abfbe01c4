"""Depthwise 3-D convolution in float64: every channel has its own filter, correlated with the zero-padded input.

A channel's planes lie flat in one padded array, so that one filter row is a 1-D correlation over many rows at once; the
few results that straddle two rows are dropped. The published problem has 108.7 M outputs of 75 products each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kbserver.core.errors import ContentError
from kbserver.runs.bf16 import round_float32, widen
from kbserver.runs.problem import Problem
from kbserver.runs.references.protocol import Arrays

CHUNK_ELEMENTS = 32_768
"""Elements correlated at a time: with the running sum they stay in the L2 cache."""

RENEW_ELEMENTS = 1 << 18
"""Elements after which the bits that `renew` flips repeat: 512 KB, which a core keeps in its cache."""
SPREAD_BITS = 0x83FF
"""Bits that vary in the family `spread`."""
SPREAD, WHOLE = "spread", "whole"
WHOLE_LIMIT = 15
"""Largest whole number of the family `whole`: 75 * 15 * 15 is far below 2^24, where float32 stops being exact."""


class DepthwiseConv3d:
    """The reference `depthwise_conv3d`.

    Inputs of the family `spread` have random signs and significands and exponents that spread over eight binades, so
    that sums round; those of `whole` are whole numbers, whose sums are exact in float32 in any order, with ties when
    they are rounded to bfloat16.
    """

    families = (SPREAD, WHOLE)
    renews = True

    def inputs(self, problem: Problem, sizes: Mapping[str, int], seed: int, family: str) -> dict[str, np.ndarray]:
        generator = np.random.Generator(np.random.SFC64([seed, self.families.index(family)]))
        make = _spread if family == SPREAD else _whole
        return {
            name: make(generator, problem.shape(name, sizes))
            for name, tensor in problem.tensors.items()
            if tensor.role == "input"
        }

    def sums_exactly(self, family: str) -> bool:
        return family == WHOLE

    def results(self, problem: Problem, sizes: Mapping[str, int], inputs: Arrays) -> ConvResults:
        return ConvResults(self, problem, inputs)

    def close(self) -> None:
        pass

    def channel(self, problem: Problem, inputs: Arrays, channel: int) -> ConvChannel:
        if set(problem.stride) != {1} or len(problem.kernel) != 3:
            raise ContentError("the reference convolves in three dimensions with stride 1", where="problem.stride")
        planes = widen(inputs["input"][0, channel])
        weight = widen(inputs["weight"][channel, 0])
        return ConvChannel(planes, weight, problem.padding)

    def renew(self, family: str, stored: np.ndarray, seed: int) -> None:
        if family != SPREAD:
            raise ValueError(f"inputs of the family {family} are made anew, not changed")
        generator = np.random.Generator(np.random.SFC64(seed))
        # Flipping bits that are uniform by bits that are uniform gives uniform bits.
        flips = generator.integers(0, 2**16, RENEW_ELEMENTS, dtype=np.uint16) & np.uint16(SPREAD_BITS)
        flat = stored.reshape(-1)
        whole = len(flat) // RENEW_ELEMENTS * RENEW_ELEMENTS
        rows = flat[:whole].reshape(-1, RENEW_ELEMENTS)
        np.bitwise_xor(rows, flips, out=rows)
        flat[whole:] ^= flips[: len(flat) - whole]

    def flops(self, problem: Problem, sizes: Mapping[str, int]) -> int:
        taps = int(np.prod(problem.kernel))
        return 2 * taps * int(np.prod(problem.shape("output", sizes)))

    def library(self, problem: Problem, sizes: Mapping[str, int]) -> dict[str, object] | None:
        return {
            "function": "torch.conv3d",
            "data": "input",
            "weight": "weight",
            "output": "output",
            "stride": list(problem.stride),
            "padding": list(problem.padding),
            "groups": sizes["C"],
        }

    def second(self, problem: Problem, inputs: Arrays, channels: int) -> tuple[str, np.ndarray]:
        import torch

        planes = torch.from_numpy(widen(inputs["input"][:, :channels]).astype(np.float64))
        weight = torch.from_numpy(widen(inputs["weight"][:channels]).astype(np.float64))
        with torch.inference_mode():
            result = torch.nn.functional.conv3d(
                planes, weight, stride=problem.stride, padding=problem.padding, groups=channels
            )
        return f"torch {torch.__version__} F.conv3d, float64", result.numpy()[0]


@dataclass(frozen=True)
class ConvResults:
    """Results that are computed channel by channel, when they are asked for: all of them would fill the memory."""

    reference: DepthwiseConv3d
    problem: Problem
    inputs: Arrays

    def channel(self, output: str, number: int) -> ConvChannel:
        return self.reference.channel(self.problem, self.inputs, number)

    def whole(self, output: str) -> None:
        return None


class ConvChannel:
    """One channel: `exact` is the sum of input * weight, `magnitude` the sum of their absolute values."""

    def __init__(self, planes: np.ndarray, weight: np.ndarray, padding: tuple[int, ...]) -> None:
        depth, height, width = (size + 2 * pad for size, pad in zip(planes.shape, padding, strict=True))
        self._padded = np.zeros((depth, height, width))
        inner = tuple(slice(pad, pad + size) for size, pad in zip(planes.shape, padding, strict=True))
        self._padded[inner] = planes
        self._weight = weight.astype(np.float64)
        self.exact = _correlate(self._padded, self._weight)

    def magnitude(self, places: np.ndarray | None = None) -> np.ndarray:
        weight = np.abs(self._weight)
        if places is None:
            return _correlate(np.abs(self._padded), weight)
        first = np.ravel_multi_index(np.unravel_index(places, self.exact.shape), self._padded.shape)
        taps = np.ravel_multi_index(np.indices(weight.shape).reshape(3, -1), self._padded.shape)
        return np.abs(self._padded.reshape(-1)[first[:, None] + taps]) @ weight.reshape(-1)


def _correlate(padded: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the valid part of the correlation of a padded volume with a filter."""
    depth, height, width = (size - taps + 1 for size, taps in zip(padded.shape, weight.shape, strict=True))
    plane, pitch = padded.shape[1] * padded.shape[2], padded.shape[2]
    flat = padded.reshape(-1)
    result = np.empty((depth, height, width))
    step = max(1, CHUNK_ELEMENTS // plane)
    for first in range(0, depth, step):
        planes = min(step, depth - first)
        length = planes * plane - (weight.shape[1] - 1) * pitch
        total = np.zeros((planes, plane))
        running = total.reshape(-1)[: length - weight.shape[2] + 1]
        for kd, kh in np.ndindex(weight.shape[:2]):
            start = (first + kd) * plane + kh * pitch
            running += np.correlate(flat[start : start + length], weight[kd, kh], "valid")
        result[first : first + planes] = total.reshape(planes, -1, pitch)[:, :height, :width]
    return result


def _spread(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return patterns of either sign with exponents -7 to 0."""
    bits = _random_words(generator, shape)
    bits &= np.uint16(SPREAD_BITS)  # sign, the low three bits of the exponent, the significand
    bits |= np.uint16(0x3C00)  # exponent field 120 or more
    return bits


def _whole(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return patterns of whole numbers from -WHOLE_LIMIT to WHOLE_LIMIT."""
    table = round_float32(np.arange(-WHOLE_LIMIT - 1, WHOLE_LIMIT + 1, dtype=np.float32))
    table[0] = 0  # 32 entries, one for each five random bits; the number that is too many becomes a zero
    words = _random_words(generator, shape)
    words &= np.uint16(31)
    return table[words]


def _random_words(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    # Whole 64-bit words are the generator's fast path, four elements each.
    words = generator.integers(0, 2**64 - 1, -(-count // 4), dtype=np.uint64, endpoint=True)
    return words.view(np.uint16)[:count].reshape(shape)
