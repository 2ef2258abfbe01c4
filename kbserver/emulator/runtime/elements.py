"""What one lane moves between memory and its VGPRs, as IR text: whole dwords, or a byte or half with its extension."""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.emulator.runtime.lane_loops import RUN


@dataclass(frozen=True)
class Element:
    """The unit of a memory instruction.

    bytes: size in memory. form: "" for dwords; zext or sext into a dword; low or high half of a dword, whose other
    half a load keeps (d16), and `low8`/`high8` likewise for bytes (`sign` extends those to the half).
    """

    bytes: int
    form: str = ""
    sign: bool = False

    @property
    def dwords(self) -> int:
        return max(1, self.bytes // 4)

    def load(self, pointer: str) -> str:
        """Return lines that load from `pointer` into lane `{lane}` of the VGPRs at %data."""
        if not self.form:
            return "\n".join(self._load_dword(pointer, place) for place in range(self.dwords))
        narrow = f"i{self.bytes * 8}"
        lines = [
            f"  %raw_{{n}} = load {narrow}, ptr {pointer}, align 1",
            "  %to_{n} = getelementptr i32, ptr %data, i64 {lane}",
        ]
        if self.form in ("zext", "sext"):
            lines += [f"  %wide_{{n}} = {self.form} {narrow} %raw_{{n}} to i32"]
            return "\n".join([*lines, "  store i32 %wide_{n}, ptr %to_{n}, align 4"])
        half = "%raw_{n}"
        if self.bytes == 1:
            lines.append(f"  %half_{{n}} = {'sext' if self.sign else 'zext'} i8 %raw_{{n}} to i16")
            half = "%half_{n}"
        lines += [
            f"  %place_{{n}} = getelementptr i8, ptr %to_{{n}}, i64 {2 if self.form.startswith('high') else 0}",
            f"  store i16 {half}, ptr %place_{{n}}, align 2",
        ]
        return "\n".join(lines)

    def _load_dword(self, pointer: str, place: int) -> str:
        return f"""  %from{place}_{{n}} = getelementptr i8, ptr {pointer}, i64 {place * 4}
  %word{place}_{{n}} = load i32, ptr %from{place}_{{n}}, align 1
  %index{place}_{{n}} = add i64 {{lane}}, {place * 64}
  %to{place}_{{n}} = getelementptr i32, ptr %data, i64 %index{place}_{{n}}
  store i32 %word{place}_{{n}}, ptr %to{place}_{{n}}, align 4"""

    def load_run(self, pointer: str) -> str:
        """Return lines that load RUN consecutive elements into lanes from `{lane}` on."""
        narrow, wide = f"<{RUN} x i{self.bytes * 8}>", f"<{RUN} x i32>"
        convert = (
            f"{self.form} {narrow} %run_{{n}} to {wide}" if self.form else f"add {wide} %run_{{n}}, zeroinitializer"
        )
        return f"""  %run_{{n}} = load {narrow}, ptr {pointer}, align 1
  %words_{{n}} = {convert}
  %to_{{n}} = getelementptr i32, ptr %data, i64 {{lane}}
  store {wide} %words_{{n}}, ptr %to_{{n}}, align 4"""

    def store_run(self, pointer: str) -> str:
        """Return lines that store RUN consecutive elements from lanes from `{lane}` on."""
        narrow, wide = f"<{RUN} x i{self.bytes * 8}>", f"<{RUN} x i32>"
        convert = f"trunc {wide} %words_{{n}} to {narrow}" if self.form else f"add {wide} %words_{{n}}, zeroinitializer"
        return f"""  %from_{{n}} = getelementptr i32, ptr %data, i64 {{lane}}
  %words_{{n}} = load {wide}, ptr %from_{{n}}, align 4
  %run_{{n}} = {convert}
  store {narrow} %run_{{n}}, ptr {pointer}, align 1"""

    def clear(self) -> str:
        """Return lines that give lane `{lane}` the value of a refused load: 0."""
        lines = []
        for place in range(self.dwords):
            lines.append(f"""  %index{place}_{{n}} = add i64 {{lane}}, {place * 64}
  %to{place}_{{n}} = getelementptr i32, ptr %data, i64 %index{place}_{{n}}
  store i32 0, ptr %to{place}_{{n}}, align 4""")
        return "\n".join(lines)

    def store(self, pointer: str) -> str:
        """Return lines that store lane `{lane}` of the VGPRs at %data to `pointer`."""
        if not self.form:
            return "\n".join(self._store_dword(pointer, place) for place in range(self.dwords))
        narrow = f"i{self.bytes * 8}"
        shift = 16 if self.form.startswith("high") else 0
        return f"""  %from_{{n}} = getelementptr i32, ptr %data, i64 {{lane}}
  %word_{{n}} = load i32, ptr %from_{{n}}, align 4
  %part_{{n}} = lshr i32 %word_{{n}}, {shift}
  %raw_{{n}} = trunc i32 %part_{{n}} to {narrow}
  store {narrow} %raw_{{n}}, ptr {pointer}, align 1"""

    def _store_dword(self, pointer: str, place: int) -> str:
        return f"""  %index{place}_{{n}} = add i64 {{lane}}, {place * 64}
  %from{place}_{{n}} = getelementptr i32, ptr %data, i64 %index{place}_{{n}}
  %word{place}_{{n}} = load i32, ptr %from{place}_{{n}}, align 4
  %to{place}_{{n}} = getelementptr i8, ptr {pointer}, i64 {place * 4}
  store i32 %word{place}_{{n}}, ptr %to{place}_{{n}}, align 1"""


DWORDS = {1: Element(4), 2: Element(8), 3: Element(12), 4: Element(16)}

# Suffixes of load and store mnemonics -> what they move.
LOADS = {
    "ubyte": Element(1, "zext"),
    "sbyte": Element(1, "sext"),
    "ushort": Element(2, "zext"),
    "sshort": Element(2, "sext"),
    "ubyte_d16": Element(1, "low8"),
    "ubyte_d16_hi": Element(1, "high8"),
    "sbyte_d16": Element(1, "low8", sign=True),
    "sbyte_d16_hi": Element(1, "high8", sign=True),
    "short_d16": Element(2, "low"),
    "short_d16_hi": Element(2, "high"),
    "dword": DWORDS[1],
    "dwordx2": DWORDS[2],
    "dwordx3": DWORDS[3],
    "dwordx4": DWORDS[4],
}
STORES = {
    "byte": Element(1, "low8"),
    "byte_d16_hi": Element(1, "high8"),
    "short": Element(2, "low"),
    "short_d16_hi": Element(2, "high"),
    "dword": DWORDS[1],
    "dwordx2": DWORDS[2],
    "dwordx3": DWORDS[3],
    "dwordx4": DWORDS[4],
}
