"""How undefined bits pass through one LLVM instruction: masks with a 1 for every bit that may depend on what nobody
wrote.

Bit operations, shifts, moves, casts and comparisons with a constant are exact to the bit. A sum or product has the
undefined bits of its operands: a carry out of them is not followed. Any other operation (floating point above all)
makes the whole element undefined, so 0 * undefined is undefined. A mask that is zero whatever happens is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kbserver.emulator.checks.ir_text import Typed, bit_count, bits_type, is_float, lanes, with_element

Mask = str | None
ZERO = "zeroinitializer"
_SIGN_TESTS = {("slt", "0"), ("sge", "0"), ("sgt", "-1"), ("sle", "-1")}
_SAME_ON_MASKS = ("llvm.bitreverse", "llvm.bswap")


@dataclass
class Masks:
    """Emits the lines that compute masks."""

    emit: Callable[[str], None]
    _count: int = field(default=0)
    _filled: set[str] = field(default_factory=set)
    """Masks whose elements have all bits or none."""
    _fillings: dict[str, str] = field(default_factory=dict)
    """mask -> the same with whole elements, in this basic block."""

    def forget(self) -> None:
        """Start a basic block: what was computed in another may not be there."""
        self._fillings.clear()

    def new(self, text: str) -> str:
        self._count += 1
        name = f"%.m{self._count}"
        self.emit(f"  {name} = {text}")
        return name

    def moved(self, text: str, *sources: Mask) -> str:
        """Return the mask of a move of whole elements."""
        result = self.new(text)
        if all(mask is None or mask in self._filled for mask in sources):
            self._filled.add(result)
        return result

    def either(self, type_: str, *masks: Mask) -> Mask:
        """Return the bits of any mask; all have the same type."""
        known = list(dict.fromkeys(mask for mask in masks if mask is not None))
        if not known:
            return None
        result = known[0]
        for other in known[1:]:
            result = self.new(f"or {type_} {result}, {other}")
        if len(known) > 1 and all(mask in self._filled for mask in known):
            self._filled.add(result)
        return result

    def filled(self, type_: str, mask: Mask) -> Mask:
        """Return the mask with all bits of every element that has one."""
        if mask is None or mask in self._filled or type_ == with_element(type_, "i1"):
            return mask
        if mask not in self._fillings:
            self._fillings[mask] = str(self.spread(type_, self.any_bit(type_, mask)))
        return self._fillings[mask]

    def any_bit(self, type_: str, mask: Mask) -> Mask:
        """Return i1 (a lane): is any bit of the element undefined?"""
        if mask is None or with_element(type_, "i1") == type_:
            return mask
        return self.new(f"icmp ne {type_} {mask}, {ZERO}")

    def any_lane(self, type_: str, mask: Mask) -> Mask:
        """Return one i1 for the whole value."""
        if mask is None or type_ == "i1":
            return mask
        whole = f"i{bit_count(type_)}"
        bits = mask if whole == type_ else self.new(f"bitcast {type_} {mask} to {whole}")
        return self.new(f"icmp ne {whole} {bits}, 0")

    def whole(self, result: str, operands: Sequence[tuple[Typed, Mask]]) -> Mask:
        """Return the mask of an operation of which nothing is known: all bits of a lane when any bit of its operands
        is undefined; a value with other lanes than the result counts for all of them."""
        type_ = bits_type(result)
        known = [(bits_type(operand.type), mask) for operand, mask in operands if mask is not None]
        if type_ is None or not known:
            return None
        if all(its == type_ for its, _ in known):
            return self.either(type_, *(self.filled(type_, mask) for _, mask in known))
        flags = []
        for its, mask in known:
            if lanes(str(its)) == lanes(result):
                flags.append(self.any_bit(str(its), mask))
            else:
                one = self.any_lane(str(its), mask)
                spread = f"i1 {one}, {with_element(type_, 'i1')} {_ones(type_)}, {with_element(type_, 'i1')} {ZERO}"
                flags.append(one if lanes(result) == 1 else self.new(f"select {spread}"))
        return self.spread(type_, self.either(with_element(type_, "i1"), *flags))

    def spread(self, type_: str, flag: Mask) -> Mask:
        """Return all bits where the flag is set."""
        flags = with_element(type_, "i1")
        if flag is None or flags == type_:
            return flag
        result = self.new(f"sext {flags} {flag} to {type_}")
        self._filled.add(result)
        return result

    # Integers

    def logic(self, operation: str, x: Typed, y: str, a: Mask, b: Mask) -> Mask:
        """And, or: a defined 0 (or 1) decides the bit whatever the other is. Not so for `or` of two vectors of which
        neither is a constant: those put fields together, and the exact rule would cost four times as much."""
        joins = operation == "or" and x.type.startswith("<") and x.is_name and y.startswith("%")
        if operation == "xor" or joins or (a is None and b is None):
            return self.either(x.type, a, b)
        found = []
        if a is not None:
            found.append(self._where(operation, x.type, a, y, b))
        if b is not None:
            found.append(self._where(operation, x.type, b, x.text, None))
        return self.either(x.type, *found)

    def _where(self, operation: str, type_: str, mask: str, value: str, its_mask: Mask) -> str:
        """Return the undefined bits that the other operand lets through: where it is 1 for and, 0 for or."""
        open_ = value if operation == "and" else self.new(f"xor {type_} {value}, {_ones(type_)}")
        if its_mask is not None:
            open_ = self.new(f"or {type_} {open_}, {its_mask}")
        return self.new(f"and {type_} {mask}, {open_}")

    def shift(self, operation: str, x: Typed, count: str, a: Mask, b: Mask) -> Mask:
        moved = None if a is None else self.new(f"{operation} {x.type} {a}, {count}")
        return self.either(x.type, moved, self.spread(x.type, self.any_bit(x.type, b)))

    def compare(self, predicate: str, x: Typed, y: str, a: Mask, b: Mask) -> Mask:
        """Return whether the answer depends on undefined bits: not when the others decide it."""
        if a is None and b is None:
            return None
        type_, flags = x.type, with_element(x.type, "i1")
        if bits_type(type_) is None or flags == type_:
            return self.either(flags, a, b)
        joined = self.either(type_, a, b)
        if predicate in ("eq", "ne") and not (type_.startswith("<") and y.startswith("%")):
            return self._unlike(type_, x.text, y, str(joined))
        if (predicate, y) in _SIGN_TESTS or (predicate, y.removeprefix("splat (").split(" ")[-1][:-1]) in _SIGN_TESTS:
            return self.new(f"icmp slt {type_} {joined}, {ZERO}")
        return self.any_bit(type_, joined)

    def _unlike(self, type_: str, x: str, y: str, mask: str) -> str:
        """Return whether equality depends on undefined bits: not when defined ones differ."""
        flags = with_element(type_, "i1")
        different = x if y in ("0", ZERO) else self.new(f"xor {type_} {x}, {y}")
        known = self.new(f"xor {type_} {mask}, {_ones(type_)}")
        decided = self.new(f"and {type_} {different}, {known}")
        open_ = self.new(f"icmp eq {type_} {decided}, {ZERO}")
        return self.new(f"and {flags} {open_}, {self.any_bit(type_, mask)}")

    # Choices and moves

    def choose(self, c: Typed, x: Typed, y: Typed, masks: tuple[Mask, Mask, Mask]) -> Mask:
        """Select: the mask of the chosen one; where the condition is undefined, all bits that differ too."""
        type_ = bits_type(x.type)
        chooses, a, b = masks
        if type_ is None:
            return None
        picked = None
        if a is not None or b is not None:
            picked = self.moved(f"select {c.all}, {type_} {a or ZERO}, {type_} {b or ZERO}", a, b)
        if chooses is None:
            return picked
        open_ = chooses
        if c.type == "i1" and lanes(type_) > 1:
            flags = with_element(type_, "i1")
            open_ = self.new(f"select i1 {chooses}, {flags} {_ones(flags)}, {flags} {ZERO}")
        unsure = self.spread(type_, open_)
        if not is_float(x.type):
            different = self.new(f"xor {type_} {x.text}, {y.text}")
            apart = self.either(type_, different, a, b)
            unsure = self.new(f"and {type_} {unsure}, {apart}")
        return self.either(type_, picked, unsure)

    def cast(self, operation: str, x: Typed, to: str, mask: Mask) -> Mask:
        if mask is None:
            return None
        from_, type_ = bits_type(x.type), bits_type(to)
        if from_ is None or type_ is None:
            return None
        if operation in ("zext", "sext", "trunc", "bitcast"):
            return mask if from_ == type_ else self.new(f"{operation} {from_} {mask} to {type_}")
        return self.whole(to, [(x, mask)])

    def intrinsic(self, name: str, result: str, operands: Sequence[tuple[Typed, Mask]]) -> Mask:
        """Return the mask of an LLVM intrinsic."""
        type_ = bits_type(result)
        if type_ is None or all(mask is None for _, mask in operands):
            return None
        if name.startswith(_SAME_ON_MASKS):
            return self.new(f"call {type_} @{name}({type_} {operands[0][1]})")
        if name.startswith("llvm.fabs") or name.startswith("llvm.copysign"):
            return self.either(type_, *(mask for _, mask in operands))
        return self.whole(result, operands)


def _ones(type_: str) -> str:
    return f"splat ({type_[1:-1].split(' x ')[1]} -1)" if type_.startswith("<") else "-1"
