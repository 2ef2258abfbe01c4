"""The instruction tables as the checker asks them: exact names, families, what takes the place of a missing one."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

from kbserver.isa.forms import base_name
from kbserver.isa.lookup import builtin_names, look_up
from kbserver.isa.table import InstructionTable

MAX_INSTEAD = 3
_GOES_ON = tuple("_0123456789")


class IsaWorld:
    """Answers of one table; every method is cached, since a text names the same few instructions again and again."""

    def __init__(self, table: InstructionTable) -> None:
        self.table = table
        self._builtins = builtin_names()
        self._stems: dict[str, list[str]] = {}
        for name in (*table.names, *table.alias_names):
            self._stems.setdefault(_stem(name), []).append(name)
        self.source = f"assembled and decoded with LLVM {table.llvm}"
        self.exists = lru_cache(maxsize=4096)(self._exists)
        self.is_family = lru_cache(maxsize=4096)(self._is_family)

    def _exists(self, name: str, arch: str) -> bool:
        for spelling in dict.fromkeys((name, base_name(name))):
            found = self.table.get(spelling)
            if (found is not None and arch in found.targets) or arch in self.table.alias(spelling):
                return True
        return False

    def _is_family(self, name: str) -> bool:
        """True for what names more than an instruction: a beginning of names, such as ds_read, or a builtin."""
        if name in self.table or self.table.alias(name):
            return False
        if self._is_builtin(name):
            return True  # ds_read_tr16_b64 is the builtin's name, without what all builtins begin with
        place = len(name)
        return any(
            one.startswith(name) and one[place : place + 1] in _GOES_ON for one in self._stems.get(_stem(name), ())
        )

    def _is_builtin(self, name: str) -> bool:
        full = f"__builtin_amdgcn_{name}"
        place = bisect_left(self._builtins, full)
        return place < len(self._builtins) and self._builtins[place].startswith(full)

    def canonical(self, name: str, arch: str) -> str:
        """Return the name by which the tables call an instruction of `arch`: aliases are spelt out."""
        spelling = base_name(name)
        return self.table.alias(spelling).get(arch, spelling)

    def elsewhere(self, name: str) -> tuple[str, ...]:
        """Return the other LLVM targets that have a name."""
        return self.table.elsewhere.get(name, ())

    def replacement(self, name: str, arch: str) -> str | None:
        """Return what takes the place of a missing name on `arch`, else names that read alike."""
        found = look_up(name, [arch])
        instead = [one.name for one in found.instead if self.exists(one.name, arch)]
        if instead:
            return f"in its place: {', '.join(instead[:MAX_INSTEAD])}"
        near = [one for one in found.near if self.exists(one, arch)]
        return f"names that read alike: {', '.join(near[:MAX_INSTEAD])}" if near else None


def _stem(name: str) -> str:
    return "_".join(name.split("_")[:2])
