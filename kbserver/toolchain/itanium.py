"""The name in a mangled C++ symbol, by the grammar of the Itanium C++ ABI: namespaces and function, nothing more.

Template arguments and parameters are read over, so that instances and overloads of one function have one name. What the
grammar has beyond that (operators, constructors, decltype and other expressions in template arguments) gives no name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")
PREFIX = "_Z"
ANONYMOUS = "(anonymous namespace)"
MAX_SYMBOL, MAX_DEPTH = 4000, 120
_STANDARD = {"t": "std", "a": "allocator", "b": "basic_string", "s": "string", "i": "istream", "o": "ostream",
             "d": "iostream"}  # fmt: skip


class _NotRead(ValueError):
    """The symbol has something that is not read here, or is cut."""


@lru_cache(maxsize=4096)
def name_parts(symbol: str) -> tuple[str, ...] | None:
    """Return ("ns", "scale") for `_ZN2ns5scaleIfEEvPT_`; None for a symbol that is not mangled or not read."""
    if not symbol.startswith(PREFIX) or len(symbol) > MAX_SYMBOL:
        return None
    try:
        return _Reader(symbol, len(PREFIX)).function() or None
    except _NotRead:
        return None


def _level(read: Callable[[_Reader], T]) -> Callable[[_Reader], T]:
    """Count how deep a production stands in others: a symbol may be anybody's text."""

    def counted(reader: _Reader) -> T:
        reader.depth += 1
        if reader.depth > MAX_DEPTH:
            raise _NotRead("deep")
        found = read(reader)
        reader.depth -= 1
        return found

    return counted


class _Reader:
    """A place in a symbol. Every method reads one production of the grammar and moves on."""

    def __init__(self, text: str, place: int) -> None:
        self.text, self.place, self.depth = text, place, 0

    def peek(self, length: int = 1) -> str:
        return self.text[self.place : self.place + length]

    def take(self, expected: str) -> bool:
        found = self.text.startswith(expected, self.place)
        self.place += len(expected) if found else 0
        return found

    def need(self, expected: str) -> None:
        if not self.take(expected):
            raise _NotRead(expected)

    def digits(self) -> str:
        start = self.place
        while self.peek().isascii() and self.peek().isdigit():
            self.place += 1
        return self.text[start : self.place]

    # Names

    def function(self) -> tuple[str, ...]:
        """Read the name of the whole symbol: without scopes, what stands behind it does not matter."""
        return self.name() if self.peek() in ("N", "Z") else self.simple()

    @_level
    def name(self) -> tuple[str, ...]:
        """Read a name with its scopes, template arguments left out."""
        if self.peek() == "N":
            return self.nested()
        if self.take("Z"):
            return self.local()
        parts = self.simple()
        self.optional_arguments()
        return parts

    def simple(self) -> tuple[str, ...]:
        """Read a name that stands alone or in std."""
        parts = self.substitution() if self.peek() == "S" else ()
        return parts if parts and parts != ("std",) else (*parts, self.unqualified())

    def nested(self) -> tuple[str, ...]:
        self.need("N")
        while self.peek() in ("r", "V", "K", "R", "O"):
            self.place += 1
        parts: tuple[str, ...] = ()
        while not self.take("E"):
            if self.peek() == "S":
                parts += self.substitution()
            elif self.peek() == "T":
                self.template_parameter()
            elif self.peek() == "I":
                self.arguments()
            else:
                parts += (self.unqualified(),)
        return parts

    def local(self) -> tuple[str, ...]:
        """Read what is defined inside a function: the scopes of that function, then the name."""
        scopes = self.name()
        self.types_until_end()
        if self.take("s"):
            return scopes
        return scopes + self.name()

    def unqualified(self) -> str:
        self.take("L")  # of internal linkage
        if self.peek(2) in ("Ul", "Ut"):
            return self.unnamed()
        length = self.digits()
        if not length:
            raise _NotRead(self.peek(2))  # an operator, a constructor or a destructor
        end = self.place + int(length[:6])
        if end > len(self.text):
            raise _NotRead("cut")
        found, self.place = self.text[self.place : end], end
        while self.take("B"):  # ABI tags
            self.unqualified()
        return ANONYMOUS if found.startswith("_GLOBAL__N") else found

    def unnamed(self) -> str:
        is_lambda = self.peek(2) == "Ul"
        self.place += 2
        if is_lambda:
            self.types_until_end()
        self.digits()
        self.need("_")
        return "{lambda}" if is_lambda else "{unnamed}"

    def substitution(self) -> tuple[str, ...]:
        """Read what was named before: which parts they were is not kept."""
        self.need("S")
        letter = self.peek()
        if letter in _STANDARD:
            self.place += 1
            return ("std",) if letter == "t" else ("std", _STANDARD[letter])
        while self.peek().isascii() and (self.peek().isdigit() or self.peek().isupper()):
            self.place += 1
        self.need("_")
        return ("",)

    def template_parameter(self) -> None:
        self.need("T")
        self.digits()
        self.need("_")

    # Types and template arguments, which are read over

    def optional_arguments(self) -> None:
        if self.peek() == "I":
            self.arguments()

    def arguments(self) -> None:
        self.need("I")
        while not self.take("E"):
            self.argument()

    @_level
    def argument(self) -> None:
        if self.take("J"):
            while not self.take("E"):
                self.argument()
        elif self.take("L"):
            self.literal()
        else:
            self.type()

    def literal(self) -> None:
        if self.take(PREFIX):
            self.name()
            self.types_until_end()
            return
        self.type()
        while self.peek() and self.peek() in "n0123456789abcdef_":
            self.place += 1
        self.need("E")

    def types_until_end(self) -> None:
        while not self.take("E"):
            self.type()

    @_level
    def type(self) -> None:
        first = self.peek()
        if first and first in "rVKPROCG":
            self.place += 1
            self.type()
        elif first == "D":
            self.long_builtin()
        elif first in ("N", "Z") or first.isdigit() or first == "S":
            self.name_of_type()
        elif first == "T":
            self.template_parameter()
            self.optional_arguments()
        elif first in ("A", "F", "M", "U", "u"):
            self.compound()
        elif first.isascii() and first.islower():
            self.place += 1
        else:
            raise _NotRead(first)

    def name_of_type(self) -> None:
        if self.peek() == "S" and self.peek(2) != "St":
            self.substitution()
            self.optional_arguments()
        else:
            self.name()

    def compound(self) -> None:
        kind = self.peek()
        self.place += 1
        if kind == "A":
            self.counted()
        elif kind == "F":
            self.take("Y")
            while not self.take("E"):
                if self.peek(2) not in ("RE", "OE"):
                    self.type()
                else:
                    self.place += 1
        elif kind == "M":
            self.type()
            self.type()
        else:  # of the vendor: u is a type, U a qualifier of the type behind it, such as AS3 of an address space
            self.unqualified()
            self.optional_arguments()
            if kind == "U":
                self.type()

    def counted(self) -> None:
        """Read a number of elements and their type: of an array or a vector."""
        self.digits()
        self.need("_")
        self.type()

    def long_builtin(self) -> None:
        """Read D and what it begins: vectors, half floats, packs, and the built-in types of two letters."""
        self.need("D")
        kind = self.peek()
        self.place += 1
        if kind == "v":
            self.counted()
        elif kind == "p":
            self.type()
        elif kind == "F":  # DF16_, DF16b
            self.digits()
            if not self.take("b"):
                self.need("_")
        elif not kind or kind not in "hfdeisuacn":
            raise _NotRead(kind)
