"""Numbers with units: "160 KiB", "2300-2500 TFLOPS", "up to 8 waves", and whether one is another, as rounded.

A unit names a dimension and the factors it may have: KB is written for 1000 and for 1024 bytes, and either is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kbserver.claims.tokens import NUMBER, Token

MOST_ROUNDING = 0.06
"""Trailing zeros may be rounding ("2300 TFLOPS" for 2306.9), but never by more than this share."""
LEAST_ROUNDING = 0.006
HEDGED_ROUNDING = 0.12

_K, _M, _G, _T, _P = 1e3, 1e6, 1e9, 1e12, 1e15
_KI, _MI, _GI, _TI = 1024.0, 1024.0**2, 1024.0**3, 1024.0**4


@dataclass(frozen=True)
class Unit:
    """A unit: its dimension and what one of it is in the base of the dimension (more than one where usage differs)."""

    dim: str
    factors: tuple[float, ...] = (1.0,)


def _table() -> dict[tuple[str, ...], Unit]:
    units: dict[tuple[str, ...], Unit] = {}

    def add(dim: str, factors: tuple[float, ...], *names: str) -> None:
        for name in names:
            units[tuple(name.split())] = Unit(dim, factors)

    add("B", (1.0,), "B", "bytes", "byte")
    for name, sizes in (
        ("KB", (_K, _KI)), ("kB", (_K, _KI)), ("kb", (_K, _KI)), ("MB", (_M, _MI)), ("GB", (_G, _GI)),
        ("TB", (_T, _TI)), ("KiB", (_KI,)), ("MiB", (_MI,)), ("GiB", (_GI,)), ("TiB", (_TI,)),
    ):  # fmt: skip
        add("B", sizes, name)
        # Bandwidths are powers of ten by custom.
        add("B/s", sizes[:1], f"{name} / s", f"{name} per second", f"{name} / sec", f"{name}ps")
    add("B/clk", (1.0,), *(f"{b} {per}" for b in ("B", "bytes") for per in (
        "/ clk", "/ clock", "/ cycle", "/ cycles", "per clock", "per cycle",
        "a clock", "a cycle", "per clk")))  # fmt: skip
    for prefix, factor in (("", 1.0), ("G", _G), ("T", _T), ("P", _P)):
        add("FLOP/s", (factor,), *(f"{prefix}{name}" for name in (
            "FLOP / s", "FLOPs / s", "FLOPS / s", "flop / s", "OP / s", "OPs / s", "FLOPs per second")))  # fmt: skip
        add("FLOP", (factor,), *(f"{prefix}{name}" for name in ("FLOP", "FLOPs", "flop", "flops")))
        if prefix:
            add("FLOP/s", (factor,), *(f"{prefix}{name}" for name in ("FLOPS", "OPS", "FLOPs", "OPs")))
    add("FLOP", (_G,), "GFLOPs", "GFLOP")
    for prefix, factor in (("T", _T), ("P", _P)):
        add("FLOP/s", (factor,), f"{prefix}F", f"{prefix}FLOP", f"{prefix}flops")
    add("FLOP/B", (1.0,), *(f"{f} {per}" for f in ("FLOP", "FLOPs", "FLOPS", "flop", "flops", "Ops", "OPs") for per in (
        "/ B", "/ byte", "/ Byte", "/ bytes", "per byte", "per B")))  # fmt: skip
    add("s", (1.0,), "s", "sec", "second", "seconds")
    add("s", (1e-3,), "ms", "milliseconds", "millisecond", "msec")
    add("s", (1e-6,), "us", "µs", "μs", "usec", "microseconds", "microsecond")
    add("s", (1e-9,), "ns", "nanoseconds", "nanosecond")
    add("Hz", (1e6,), "MHz", "Mhz", "mhz")
    add("Hz", (1e9,), "GHz", "Ghz", "ghz")
    add("%", (0.01,), "%", "percent", "per cent")
    add("x", (1.0,), "x", "×", "times", "fold", "X")
    add("clk", (1.0,), "cycles", "clocks", "clk", "clks", "cycle", "clock", "- cycle")
    add("pass", (1.0,), "passes", "pass", "- pass")
    add("VGPR", (1.0,), "VGPRs", "VGPR", "vgprs", "vgpr", "vector registers", "architected VGPRs", "arch VGPRs")
    add("AGPR", (1.0,), "AGPRs", "AGPR", "agprs", "accumulation VGPRs", "AccVGPRs")
    add("SGPR", (1.0,), "SGPRs", "SGPR", "sgprs", "sgpr", "scalar registers")
    add("register", (1.0,), "registers", "32 - bit registers", "regs")
    add("wave", (1.0,), "waves", "wave", "wavefronts", "wavefront", "wave slots", "warps", "Waves")
    add("bank", (1.0,), "banks", "- bank", "bank", "LDS banks")
    add(
        "CU",
        (1.0,),
        "CUs",
        "CU",
        "compute units",
        "active CUs",
        "Compute Units",
        "active compute units",
        "cus",
        "enabled CUs",
        "usable CUs",
        "physical CUs",
        "physical compute units",
    )
    add("XCD", (1.0,), "XCDs", "XCD", "XCCs")
    add("GCD", (1.0,), "GCDs", "GCD")
    add("SIMD", (1.0,), "SIMDs", "SIMD units", "SIMD", "vector units")
    add("workgroup", (1.0,), "workgroups", "workgroup", "blocks", "block", "work - groups", "thread blocks")
    add("thread", (1.0,), "threads", "thread", "work - items", "workitems", "lanes", "lane", "- lane", "- wide")
    add("bit", (1.0,), "bits", "bit", "- bit")
    add("W", (1.0,), "W", "watts")
    return units


UNITS = _table()
_LONGEST = max(len(name) for name in UNITS)
_COUNTS = frozenset(("CU", "XCD", "GCD", "SIMD", "wave", "bank", "workgroup", "thread", "bit"))
"""What is counted, not measured: no rounding."""
_WORDS = {
    "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "seven": 7.0, "eight": 8.0,
    "nine": 9.0, "ten": 10.0, "sixteen": 16.0, "thirty-two": 32.0, "sixty-four": 64.0,
}  # fmt: skip
_HEDGES = frozenset(("~", "about", "roughly", "around", "approximately", "nearly", "almost", "approx", "circa", "some"))
_ABOVE = frozenset((">", ">=", "over", "above"))
_BELOW = frozenset(("<", "<=", "under", "below", "within"))
_AMBIGUOUS = {"GFLOPs": ("FLOP", "FLOP/s"), "GFLOPS": ("FLOP/s", "FLOP"), "TFLOPs": ("FLOP/s", "FLOP"),
              "TFLOP": ("FLOP/s", "FLOP"), "PFLOPs": ("FLOP/s", "FLOP"), "TFLOPS": ("FLOP/s",)}  # fmt: skip


@dataclass(frozen=True)
class Quantity:
    """A number as written, at tokens [start, end). `dims` lists what its unit may mean; "" is a bare number.

    `low` and `high` are the numbers before the unit's factor (equal unless it is a range); `half` is half a unit of
    the last digit written. `bound` is "<", ">" or "".
    """

    start: int
    end: int
    low: float
    high: float
    half: float
    dims: tuple[str, ...]
    factors: tuple[float, ...]
    text: str
    hedged: bool = False
    bound: str = ""

    @property
    def dim(self) -> str:
        return self.dims[0]

    @property
    def value(self) -> float:
        """The value in the base of the dimension, by the first meaning of the unit."""
        return self.high * self.factors[0]

    def slack(self) -> float:
        """Return how far from the true value this number may be by rounding, before the unit's factor."""
        if self.dim in _COUNTS and not self.hedged:
            return 0.0  # 40 CUs are not 38, rounded or not
        most = MOST_ROUNDING * self.high
        return max(min(self.half, most), (HEDGED_ROUNDING if self.hedged else LEAST_ROUNDING) * self.high)

    def is_value(self, true: float) -> bool:
        """True when this number, as rounded, says `true` (in the base of the dimension)."""
        slack = self.slack()
        return any((self.low - slack) * f <= true <= (self.high + slack) * f for f in self.factors)


def quantities(tokens: Sequence[Token]) -> list[Quantity]:
    """Return the numbers of a sentence with their units, in order."""
    found: list[Quantity] = []
    place = 0
    while place < len(tokens):
        if tokens[place].kind != NUMBER:
            quantity = _in_words(tokens, place)
            if quantity is not None:
                found.append(quantity)
            place = quantity.end if quantity else place + 1
            continue
        quantity = _quantity(tokens, place)
        found.append(quantity)
        place = quantity.end
    return found


def _in_words(tokens: Sequence[Token], start: int) -> Quantity | None:
    """Return "four waves" as a number: a word that counts, right before what is counted."""
    number = _WORDS.get(tokens[start].low)
    if number is None or start + 1 >= len(tokens):
        return None
    dims, factors, end = _unit(tokens, start + 1)
    if dims[0] not in _COUNTS:
        return None
    hedged = bool(start) and tokens[start - 1].low in _HEDGES
    bound = ">" if start > 1 and tokens[start - 1].low in ("than", "least") else ""
    return Quantity(start, end, number, number, 0.5, dims, factors, _written(tokens, start, end), hedged, bound)


def _quantity(tokens: Sequence[Token], start: int) -> Quantity:
    low = high = tokens[start].value
    half = half_unit(tokens[start].text)
    place = start + 1
    if _is_range(tokens, place):
        high = max(low, tokens[place + 1].value)
        half = max(half, half_unit(tokens[place + 1].text))
        place += 2
    dims, factors, end = _unit(tokens, place)
    before = tokens[start - 1].low if start else ""
    two = f"{tokens[start - 2].low} {before}" if start > 1 else ""
    return Quantity(
        start=start,
        end=end,
        low=low,
        high=high,
        half=half,
        dims=dims,
        factors=factors,
        text=_written(tokens, start, end),
        hedged=before in _HEDGES,
        bound=">" if before in _ABOVE or two in ("more than", "greater than", "larger than", "at least")
        else "<" if before in _BELOW or two in ("less than", "fewer than", "smaller than") else "",
    )  # fmt: skip


def _is_range(tokens: Sequence[Token], place: int) -> bool:
    return (
        place + 1 < len(tokens)
        and tokens[place].low in ("-", "to")
        and tokens[place + 1].kind == NUMBER
        and tokens[place + 1].value > tokens[place - 1].value
        and _unit(tokens, place + 2)[0][0] in ("B", "B/s", "FLOP/s", "s", "%", "x", "clk", "FLOP/B")
        and not (tokens[place].low == "to" and place >= 2 and tokens[place - 2].low == "from")
    )


def half_unit(text: str) -> float:
    """Return half a unit of the last digit that is not a trailing zero of a whole number."""
    digits = text.replace(",", "")
    if "e" in digits.lower():
        return abs(float(digits)) * 0.05
    if "." in digits:
        return 0.5 * 10.0 ** -len(digits.partition(".")[2])
    zeros = len(digits) - len(digits.rstrip("0"))
    return 0.5 * 10.0 ** (zeros if zeros < len(digits) else 0)


def _unit(tokens: Sequence[Token], place: int) -> tuple[tuple[str, ...], tuple[float, ...], int]:
    """Return (dimensions, factors, end) of the unit that begins at `place`: the longest that fits, else none."""
    for width in range(min(_LONGEST, len(tokens) - place), 0, -1):
        piece = tokens[place : place + width]
        unit = UNITS.get(tuple(token.low if token.kind == "sign" else token.text for token in piece))
        if unit is None:
            continue
        written = piece[0].text
        if written in ("x", "X", "×", "s", "B", "W") and not piece[0].glued and written not in ("B", "s", "W"):
            continue  # "3 x 4" is a product, "10.7x" a ratio
        dims = _AMBIGUOUS.get(written, (unit.dim,)) if width == 1 else (unit.dim,)
        return dims, unit.factors, place + width
    # "64 KB-per-CU": the hyphen glues words, the unit is before it. "32-bit" and the like are in the table.
    if place + 1 < len(tokens) and tokens[place].low == "-" and tokens[place].glued and tokens[place + 1].glued:
        unit = UNITS.get((tokens[place + 1].text,))
        if unit is not None and tokens[place + 1].text not in ("x", "s"):
            return (unit.dim,), unit.factors, place + 2
    return ("",), (1.0,), place


def _written(tokens: Sequence[Token], start: int, end: int) -> str:
    parts = [tokens[start].text]
    for token in tokens[start + 1 : end]:
        parts.append(token.text if token.glued else f" {token.text}")
    return "".join(parts)
