"""Instruction names against the instruction tables: a name that the target lacks, and what is said about existence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kbserver.claims import markdown
from kbserver.claims.clauses import clause, opens_with
from kbserver.claims.context import Context
from kbserver.claims.model import CONTRADICTED, SUPPORTED, Evidence, Finding
from kbserver.claims.scope import Scope
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import REPORTED, stance
from kbserver.claims.world import World

KIND = "instruction"
_NAME = re.compile(r"(?:v|s|ds|buffer|global|flat|scratch|tbuffer|image)_[a-z0-9_]*[a-z0-9]")
# What an operand type looks like: a name without one may be a variable ("s_data"), one with it is an instruction.
_TYPED = re.compile(
    r"_(?:co_)?(?:[bdfiu](?:8|16|24|32|64|96|128)|bf16|bf8|fp8|dword(?:x\d)?|[us](?:byte|short))(?:_|\b|x)"
)
_CALLED = frozenset(("instruction", "instructions", "opcode", "mnemonic", "assembly"))
_ABSENT = re.compile(
    r"\b(?:does not|doesn ' t|do not|don ' t|did not|not|never|no such|no longer) (?:\w+ )?(?:exist\w*|"
    r"available|supported|"
    r"assembl\w+|there|present|part|implemented|encod\w+|in|on)\b"
    r"|\b(?:lacks?|lacking|missing|absent|gone|unavailable|unsupported|removed|dropped|rejects?|rejected|refuses?|refused|"
    r"invalid|nonexistent|non - existent|has no|have no|there is no|no)\b"
)
_ONLY = re.compile(
    r"\b(?:only|new|since|added|adds|introduce[sd]?|starting|first|needs|requires|exclusive\w*|specific)\b"
)
_TOPIC = re.compile(
    r"\b(?:later|newer|rdna|other targets|differences?|what is new|missing|not in|not on|without|porting|names)\b"
)
# Somebody compares, ports or explains names: a name of another target is no mistake there.
_OTHER = re.compile(
    r"\b(?:rdna\w*|gfx1\d\w*|newer|older|later|other|instead|rather|replac\w*|renam\w*|alias\w*|spell\w*|called|"
    r"equivalent|place of|unlike|port\w*|emulat\w*|fallback|elsewhere|differ\w*|became|becomes|formerly|whereas|"
    r"but|not|"
    r"none|without|cuda|nvidia|cannot|can't|error|fails?|failed|unknown|if|unless|wrong\w*|old|names?|trap|expand\w*|"
    r"break\w*|hallucinat\w*|invent\w*|versus|vs|except|would|hypothe\w*)\b"
)


# An author tells what a kernel, a compiler or they themselves did: the name was in the code.
_USED_BEFORE = re.compile(
    r"\b(?:(?:fixed|solved|sped up|faster|gained) by (?:replacing|removing)|"
    r"(?:we|i|kernel|loop|compiler|hipcc|clang|epilogue|prologue|code|version|build|commit|patch)"
    r"(?: (?:had|have|has|then|also|still|now|already|just|inner))*"
    r" (?:replaced|removed|dropped|swapped|used|uses|use|emits|emitted|generated|generates|issues|issued|executes|"
    r"executed|contains|contained|spends|relies|relied|calls|called))"
    r"(?: (?:on|the|a|an|slow|expensive|old|costly|many|one|single|time|in|its|all))*$"
)
_REPLACED = re.compile(r"\b(?:replac\w+|remov\w+|dropped|swapped)\b")
_USED_AFTER = re.compile(
    r"(?:instructions? )?(?:, which |which |that |, )?"
    r"(?:(?:was|were|is|being) (?:being )?(?:generated|emitted|issued|used)|"
    r"caused|causes|explains|slows|slowed|kills|killed|dominat\w+|in the (?:inner |hot )?loop)\b"
)
_WRITING = frozenset(
    ("text", "doc", "docs", "document", "documents", "notes", "note", "readme", "table", "comment", "page")
)
"""Then a name may have been used in words, not in code."""
_THERE = re.compile(r"(?:, )?which (?:gfx\w+|mi\d+\w?|cdna ?\d?) (?:still |also )?(?:supports|has|offers|provides)\b")


def check(sentence: Sentence, world: World, scopes: Context) -> Iterator[Finding]:
    """Yield a finding for every instruction name that a target lacks, or of which the sentence says where it exists."""
    for start, end, name in names_of(sentence, world):
        if _is_family(name, world) or stance(sentence, start, end) == REPORTED:
            continue
        scope = scopes.of(sentence, start, end)
        exists = {arch: world.exists(name, arch) for arch in scope.archs or world.archs}
        if not exists or None in exists.values():
            continue
        yield from _verdict(sentence, start, end, name, {arch: bool(on) for arch, on in exists.items()}, scopes, world)


def names_of(sentence: Sentence, world: World) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, name) of each name once; one whose underscores were lost is put together again."""
    words = sentence.words
    seen = set()
    for place, token in enumerate(sentence.tokens):
        name, end = token.low, place + 1
        # v_pk_* names a family, v_cmp(x) is code of another kind.
        after = words[end : end + 1]
        if token.low in ("v", "s", "ds") and token.kind == "word" and words[place - 1 : place] != ["'"]:
            name, end = _joined(words, place)
        elif not _NAME.fullmatch(token.text) or after in (["*"], ["{"], ["["], ["<"]) or _is_call(sentence, end):
            continue
        if name in seen or not name or (place and words[place - 1] in ("_", "/", ".", "$", "@")):
            continue
        other = not sentence.cells and bool(world.elsewhere(name))
        if _TYPED.search(name) or _called_instruction(words, place, end) or other:
            seen.add(name)
            yield place, end, name


def _is_call(sentence: Sentence, end: int) -> bool:
    """True for NAME(x), which is code; "NAME (8 passes)" is not."""
    return sentence.words[end : end + 1] == ["("] and sentence.tokens[end].glued


def _joined(words: Sequence[str], place: int) -> tuple[str, int]:
    """Return the name of "v div f64 instruction": text extraction drops underscores."""
    for end in range(place + 2, min(place + 6, len(words))):
        name = "_".join(words[place:end])
        if _NAME.fullmatch(name) and _TYPED.search(name) and words[end] in _CALLED:
            return name, end
    return "", place + 1


def _called_instruction(words: Sequence[str], start: int, end: int) -> bool:
    return bool(_CALLED.intersection(words[end : end + 2])) or bool(
        _CALLED.intersection(words[max(0, start - 2) : start])
    )


def _is_family(name: str, world: World) -> bool:
    return world.is_family(name)


def _verdict(
    sentence: Sentence, start: int, end: int, name: str, exists: dict[str, bool], scopes: Context, world: World
) -> Iterator[Finding]:
    scope = scopes.of(sentence, start, end)
    near = _clause(sentence, start, end)
    there = _said_there(sentence, end)
    absent = bool(_ABSENT.search(near))
    here = [arch for arch, on in exists.items() if on]
    missing = [arch for arch, on in exists.items() if not on]
    if scope.foreign:
        return
    if _says_absent(sentence, start, end):
        if not here:
            yield _found(SUPPORTED, f"{name} does not exist on {_list(missing)}", name, exists, scope, start, world)
        elif not missing and scope.near and scope.pairs:
            yield _found(
                CONTRADICTED, f"{name} exists on {_list(here)}", name, exists, scope, start, world, "it exists"
            )
        return
    if not here:
        used = there or _said_used(sentence, start, end, name, world)
        if absent or _absence_is_the_topic(sentence) or (not scope.pairs and world.elsewhere(name)):
            return  # with no target named, a name of another maker's or generation's target may be right
        if not used and (_OTHER.search(sentence.low) or _ONLY.search(near)):
            return
        if not _beside(sentence, end, scopes) and any(
            world.exists(name, arch) for arch in scopes.above(sentence).archs
        ):
            return  # the section is about a target that has it: the sentence's own target is only mentioned
        what = f"{name} does not exist on {_list(missing)}"
        yield _found(CONTRADICTED, what, name, exists, scope, start, world, _instead(name, missing[0], world, scopes))
    elif not missing and scope.near and scope.pairs:
        yield _found(SUPPORTED, f"{name} exists on {_list(here)}", name, exists, scope, start, world)


def _says_absent(sentence: Sentence, start: int, end: int) -> bool:
    """True when the sentence says of this very name that it does not exist: the words stand beside it."""
    after = " ".join(sentence.words[end : end + 9])
    before = " ".join(sentence.words[max(0, start - 5) : start])
    told = r"(?:instructions? )?(?:, which |that |which )?"
    told += r"(?:does not|do not|doesn ' t|did not|is not|are not|isn ' t) (?:\w+ )?"
    if re.match(told + r"(?:exist\w*|available|supported|implemented|present)\b", after):
        return True
    return bool(
        re.search(
            r"\b(?:there is no|no such instruction as|lacks|lack|has no|does not have|have no)(?: an?| the)?$", before
        )
    )


def _said_used(sentence: Sentence, start: int, end: int, name: str, world: World) -> bool:
    """True for "we replaced the slow NAME" or "NAME was generated, which caused ...": it was there, says the author."""
    before = " ".join(sentence.words[max(0, start - 9) : start])
    after = " ".join(sentence.words[end : end + 7])
    if world.elsewhere(name) and _REPLACED.search(before):
        return False  # a name of another target was replaced: that is what porting does
    return not _WRITING.intersection(sentence.words) and bool(_USED_BEFORE.search(before) or _USED_AFTER.match(after))


def _said_there(sentence: Sentence, end: int) -> bool:
    """True for "NAME, which gfx950 still supports": the target is named after the name, as the one that has it."""
    return bool(_THERE.match(" ".join(sentence.words[end : end + 8])))


def _absence_is_the_topic(sentence: Sentence) -> bool:
    """True for the items of a list of what a target lacks: the heading or the line before says so."""
    listed = sentence.block.kind in (markdown.ITEM, markdown.ROW)
    titles = (*sentence.block.headings[-1:], *((sentence.block.lead,) if listed else ()))
    return any(_ABSENT.search(" ".join(title.lower().split())) or _TOPIC.search(title.lower()) for title in titles)


def _beside(sentence: Sentence, end: int, scopes: Context) -> bool:
    """True for "NAME on gfx942": the target stands right after the name."""
    return any(0 < name.start - end <= 3 for name in scopes.names_in(sentence))


def _clause(sentence: Sentence, start: int, end: int) -> str:
    """Return the words up to the consequence or reason that follows: ", so no spills are left" denies no name."""
    words = sentence.words
    low, high = start, end
    while low > 0 and words[low - 1] not in (";", "--"):
        low -= 1
    while high < len(words) and words[high] not in (";", "--"):
        high = clause(words, high, high + 1)[1]
        if opens_with(words, high) in ("so", "hence", "therefore", "thus", "because", "since"):
            break
    return " ".join(words[low:high])


def _instead(name: str, arch: str, world: World, scopes: Context) -> str | None:
    return world.replacement(name, arch) if scopes.may_look_up() else None


def _list(archs: Sequence[str]) -> str:
    return ", ".join(archs)


def _found(
    verdict: str, told: str, name: str, exists: dict[str, bool], scope: Scope, start: int, world: World,
    correction: str | None = None,
) -> Finding:  # fmt: skip
    everywhere = {arch: world.exists(name, arch) for arch in world.archs}
    has = [arch for arch, on in everywhere.items() if on]
    text = f"{name}: {'on ' + _list(has) if has else 'on none of ' + _list(world.archs)}"
    elsewhere = world.elsewhere(name)
    if not has and elsewhere:
        text += f"; LLVM knows it on {_list(elsewhere)}"
    arch = next(iter(exists))
    return Finding(
        KIND, verdict, told, (Evidence(ref=f"isa:{arch}/{name}", text=text, source=world.isa_source),),
        scope.shown, start, correction, (KIND, name, scope.archs, verdict),
    )  # fmt: skip
