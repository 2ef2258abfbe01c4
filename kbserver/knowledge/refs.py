"""Refs that do not resolve: an answer with near ones, which never repeats a path that tries to lead outside."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from kbserver.core.errors import UnresolvedRef

MAX_REF = 300
_PLAIN = re.compile(r"[A-Za-z0-9_][\w.:#/-]*", re.ASCII)


def is_plain(ref: str) -> bool:
    """True when a ref consists of harmless characters and holds no step upward and no address."""
    return len(ref) <= MAX_REF and bool(_PLAIN.fullmatch(ref)) and ".." not in ref and "//" not in ref


def unresolved(ref: str, known: Iterable[str], what: str = "ref") -> UnresolvedRef:
    """Return the error for a ref that nothing has; a doubtful one is neither echoed nor compared."""
    if not is_plain(ref):
        return UnresolvedRef(f"not a {what} of this knowledge base", hint="`kb map` and `kb search` give refs")
    near = near_refs(ref, known)
    hint = f"near: {', '.join(near)}" if near else "`kb map` and `kb search` give refs"
    return UnresolvedRef(f"no such {what}", where=ref, hint=hint, details={"near": near})


def near_refs(ref: str, known: Iterable[str], count: int = 4) -> list[str]:
    """Return the known refs most like `ref`, the best first: those it begins, by their last part, as a whole."""
    known = sorted(set(known))
    begun = [one for one in known if one.startswith(ref)]
    tails: dict[str, list[str]] = {}
    for one in known:
        tails.setdefault(_tail(one), []).append(one)
    by_tail = difflib.get_close_matches(_tail(ref), list(tails), n=count, cutoff=0.6)
    whole = difflib.get_close_matches(ref.lower(), known, n=count, cutoff=0.6)
    found = [one for tail in by_tail for one in tails[tail]]
    found.sort(key=lambda one: -difflib.SequenceMatcher(None, ref.lower(), one.lower()).ratio())
    return list(dict.fromkeys([*begun[:count], *found[:count], *whole]))[:count]


def _tail(ref: str) -> str:
    return re.split(r"[#/:]", ref.lower())[-1]
