"""Products with the wrong target: "MI350X (gfx942)", "CDNA 4 is the MI400 series", --offload-arch for another chip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from kbserver.claims import markdown
from kbserver.claims.model import CONTRADICTED, SUPPORTED, Evidence, Finding
from kbserver.claims.names import Name
from kbserver.claims.scope import Scope, Scopes
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import ASSERTED, stance
from kbserver.claims.world import World, fact_evidence
from kbserver.core.targets import PRODUCTS_FILE

KIND = "target"
# What may stand between a product and the target that it is said to have.
_IS = frozenset((
    "(", "is", "=", ":", "a", "an", "the", "uses", "target", "targets", "has", "which", "with", "based", "on", "'", "s",
    "arch", "architecture", "compiles", "for", "as", "reports", "belongs", "to", "generation", "isa", "chip", "gpu",
    ",", "part", "of", "family", "code", "name",
))  # fmt: skip
_LOOSE = frozenset((",", "on", "to", "for", "with", "as"))
_COMPARES = re.compile(
    r"\b(?:compar\w*|versus|vs|against|than|from|unlike|port\w*|mov\w*|between|both|differ\w*|not|or)\b"
)
_FLAG = re.compile(r"--(?:offload-arch|amdgpu-target)[= ](gfx[0-9a-f]{3,5})|-mcpu=(gfx[0-9a-f]{3,5})")


def check(sentence: Sentence, world: World, scopes: Scopes) -> Iterator[Finding]:
    """Yield a finding for every product that stands with a target, and every compile flag for a product."""
    named = scopes.names_in(sentence)
    if sentence.block.kind != markdown.CODE:
        for one, two in pairwise(named):
            yield from _pair(sentence, one, two, world)
    yield from _flag(sentence, named, world, scopes)


def _pair(sentence: Sentence, one: Name, two: Name, world: World) -> Iterator[Finding]:
    between = sentence.words[one.end : two.start]
    if _ends_a_list(sentence, one):
        return
    products, target = ((one, two) if one.product else (two, one)) if one.product or two.product else (one, two)
    if not between or len(between) > 5 or not all(word in _IS for word in between) or set(between) <= _LOOSE - {"with"}:
        return
    if between == ["with"] and not (one.product and not two.product):
        return
    if _COMPARES.search(" ".join(between)) or _COMPARES.search(
        " ".join(sentence.words[max(0, one.start - 3) : one.start])
    ):
        return
    if target.product or (products.arch is None and target.arch is None):
        return
    if stance(sentence, one.start, two.end) != ASSERTED or (
        not products.product and target.arch is not None and products.arch is not None and not _kinds(products, target)
    ):
        return  # fmt: skip
    if target.arch is None or products.arch is None:
        yield from _unknown_series(sentence, products, target, world)
        return
    right = products.arch == target.arch
    yield _found(right, products, target, world, one.start)


def _ends_a_list(sentence: Sentence, name: Name) -> bool:
    """True for the last of "CDNA3/CDNA4 (MI300X, MI350X)": which belongs to which is not said in order."""
    before = sentence.words[max(0, name.start - 2) : name.start]
    return len(before) == 2 and before[1] in ("/", "&", "and", ",") and bool(re.match(r"cdna|gfx|mi\d", before[0]))


def _kinds(one: Name, two: Name) -> bool:
    """True for a generation and a gfx target, or a series and either: two spellings of one thing."""
    return one.text.lower()[:3] != two.text.lower()[:3]


def _unknown_series(sentence: Sentence, one: Name, two: Name, world: World) -> Iterator[Finding]:
    """ "CDNA 4 is the MI400 series": a generation of ours with a series that it does not have."""
    ours, other = (one, two) if one.arch else (two, one)
    series = re.fullmatch(r"mi\d{3}\w?", other.text.lower())
    generation = re.match(r"cdna|gfx", ours.text.lower())
    if not series or not generation or not {"is", "=", "("}.intersection(sentence.words[one.end : two.start]):
        return
    products = [name for name, product in world.targets.products.items() if product.arch == ours.arch]
    if any(name.lower().startswith(other.text.lower()) for name in products):
        return  # "MI355 (gfx950)": short for one of them
    yield Finding(
        KIND, CONTRADICTED, f"{other.text} is no product of {ours.arch}",
        (Evidence(ref=PRODUCTS_FILE, text=f"products of {ours.arch}: {', '.join(products)}"),),
        Scope(((str(ours.arch), None),), "the sentence names it").shown, one.start,
        f"{world.targets.generations[str(ours.arch)]} is {', '.join(products)}", (KIND, other.text, ours.arch),
    )  # fmt: skip


def _flag(sentence: Sentence, named: list[Name], world: World, scopes: Scopes) -> Iterator[Finding]:
    match = _FLAG.search(sentence.plain)
    if match is None and "offload-arch" in sentence.plain and sentence.cells:
        yield from _flag_row(sentence, named, world)
        return
    if match is None:
        return
    gfx = match[1] or match[2]
    others = [name for name in named if name.product and name.arch]
    archs = {name.arch for name in others}
    if len(archs) != 1 or gfx not in world.targets.archs:
        return
    if sentence.block.kind != markdown.CODE and (
        stance(sentence, 0, 1) != ASSERTED or _COMPARES.search(sentence.low) or len(_FLAG.findall(sentence.plain)) > 1
    ):
        return
    product = others[0]
    flag = Name(product.start, product.end, gfx, None, f"--offload-arch={gfx}")
    yield _found(product.arch == gfx, product, flag, world, 0)


def _flag_row(sentence: Sentence, named: list[Name], world: World) -> Iterator[Finding]:
    """A row labelled offload-arch with a product: each other cell that begins with a target is held against it."""
    tokens = sentence.tokens
    label = [name for name in named if tokens[name.start].start < sentence.cells[0][1] and name.product]
    if not label:
        return
    for low, _ in sentence.cells[1:]:
        for name in named:
            if tokens[name.start].start == low and name.arch and not name.product:
                yield _found(name.arch == label[0].arch, label[0], name, world, name.start)


def _found(right: bool, product: Name, target: Name, world: World, start: int) -> Finding:
    fact = next((f for f in world.facts_of_arch("compiler.offload_arch", str(product.arch))), None)
    table = f"{product.product or product.text} is {product.arch} ({world.targets.generations[str(product.arch)]})"
    evidence = [Evidence(ref=PRODUCTS_FILE, text=table)]
    if fact is not None:
        evidence.append(fact_evidence(fact))
    scope = Scope(((str(product.arch), product.product),), "the sentence names it").shown
    return Finding(
        KIND, SUPPORTED if right else CONTRADICTED,
        f"{product.text} is {'' if right else 'not '}{target.text}", tuple(evidence), scope, start,
        None if right else table, (KIND, product.text, target.text, right),
    )  # fmt: skip
