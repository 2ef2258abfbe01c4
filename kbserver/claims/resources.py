"""Figures of kernels and builds: registers, LDS, scratch, waves that differ from the build or publication named."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kbserver.claims.context import Context
from kbserver.claims.figures import TIME, figures, row_figures
from kbserver.claims.kernels import Mention
from kbserver.claims.model import CONTRADICTED, SUPPORTED, UNKNOWN, Evidence, Finding
from kbserver.claims.quantities import Quantity
from kbserver.claims.scope import Scope
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import ASSERTED, stance
from kbserver.claims.world import BuildFigures, KernelFigures, World
from kbserver.core.errors import KbError

KIND = "resource"
_SHOWN = {
    "vgprs": "VGPRs",
    "agprs": "AGPRs",
    "sgprs": "SGPRs",
    "lds_bytes": "B of LDS",
    "scratch_bytes": "B of scratch",
    "vgpr_spills": "VGPR spills",
    "sgpr_spills": "SGPR spills",
    "waves_per_simd": "waves per SIMD",
}
# The figure of a changed kernel is not the published one.
_CHANGED = re.compile(
    r"\b(?:variants?|without|forced?|modified|version|ours|our|instead|if|when|after|before|change[ds]?|drop\w*|fell|rose|"
    r"attempt\w*|experiment\w*|hints?|unroll\w*|gfx942|mi300\w*|patched|another|other|alone|lds\w* by|reserve|"
    r"tile|plus)\b"
)


def check(sentence: Sentence, world: World, scopes: Context) -> Iterator[Finding]:
    """Yield a finding for every figure that stands with a build, or with one kernel whose figures are published."""
    builds = [token.low.removeprefix("build:") for token in sentence.tokens if token.low.startswith("build:")]
    if len(builds) == 1:
        yield from _against_build(sentence, builds[0], world)
        return
    if builds or sentence.block.quoted:
        return
    named = scopes.kernels_in(sentence)
    if sentence.cells:
        yield from _row(sentence, named, world, scopes)
    elif len({one.kernel.name for one in named}) == 1 and not _CHANGED.search(sentence.low):
        yield from _sentence(sentence, named[0], world, scopes)


def _against_build(sentence: Sentence, build_id: str, world: World) -> Iterator[Finding]:
    try:
        build = world.build(build_id)
    except (LookupError, KbError):
        return  # the citation checker says that it does not resolve
    kernels = build.kernels
    one = next((figures for name, figures in kernels.items() if name.lower() in sentence.low), None)
    taken = one if one is not None else next(iter(kernels.values())) if len(kernels) == 1 else None
    if taken is None or stance(sentence, 0, 1) != ASSERTED:
        return
    for figure in figures(sentence):
        if len(figure.chain) == 1 and not figure.quantity.bound and figure.kind in taken:
            yield _of_build(figure.kind, figure.quantity, taken, build)


def _of_build(kind: str, quantity: Quantity, taken: Mapping[str, int | float], build: BuildFigures) -> Finding:
    true = float(taken[kind])
    right = quantity.is_value(true) if true else quantity.high == 0
    return Finding(
        KIND, SUPPORTED if right else CONTRADICTED,
        f"build:{build.build_id} has {true:,.0f} {_SHOWN[kind]}{'' if right else f', not {quantity.text}'}",
        (Evidence(ref=f"build:{build.build_id}", text=f"{true:,.0f} {_SHOWN[kind]}", source=build.compiler),),
        Scope(((build.arch, None),), "the build's target").shown, quantity.start,
        None if right else f"{true:,.0f} {_SHOWN[kind]}", (KIND, build.build_id, kind, quantity.high),
    )  # fmt: skip


def _sentence(sentence: Sentence, mention: Mention, world: World, scopes: Context) -> Iterator[Finding]:
    for figure in figures(sentence):
        single = len(figure.chain) == 1 and not figure.quantity.bound and figure.per != "cu"
        # "Step 5 holds them in 75 VGPRs": where something is kept, not what the kernel takes.
        kept_in = sentence.words[figure.start - 1 : figure.start] == ["in"]
        if not single or kept_in or figure.start < mention.start:
            continue
        if stance(sentence, figure.start, figure.quantity.end) == ASSERTED:
            yield from published(sentence, figure.kind, figure.quantity, mention.kernel, world, scopes)


def _row(sentence: Sentence, named: list[Mention], world: World, scopes: Context) -> Iterator[Finding]:
    """A row of one kernel, or a row of one figure under columns of kernels."""
    if stance(sentence, 0, 1) != ASSERTED:
        return
    in_first = [one for one in named if sentence.tokens[one.start].start < sentence.cells[0][1]]
    for column, kind, _, quantity in row_figures(sentence):
        kernel = in_first[0].kernel if len(in_first) == 1 else scopes.kernel_of_title(sentence, column)
        if kernel is not None and column > 0 and kind != TIME:
            yield from published(sentence, kind, quantity, kernel, world, scopes)


def published(
    sentence: Sentence, kind: str, quantity: Quantity, kernel: KernelFigures, world: World, scopes: Context
) -> Iterator[Finding]:
    """Yield the verdict on one figure of a kernel, against what its authors published."""
    if kind not in kernel.figures or kind not in _SHOWN:
        return
    scope = scopes.of(sentence, quantity.start, quantity.end)
    if scope.foreign or (scope.pairs and not scope.earlier and scope.archs != (kernel.arch,)):
        return
    true = float(kernel.figures[kind])
    right = quantity.is_value(true) if true else quantity.high == 0
    shown = f"{true:,.0f} {_SHOWN[kind]}"
    if kind in kernel.not_reproduced and not right:
        verdict, told = UNKNOWN, f"published: {shown}; ours differs from that by design"
    elif right:
        verdict, told = SUPPORTED, f"{kernel.name}: {shown}, as published"
    else:
        verdict, told = (
            CONTRADICTED,
            f"{kernel.name} was published with {shown}, not {quantity.text}",
        )
    yield Finding(
        KIND, verdict, told,
        (Evidence(ref=f"kernel:{kernel.name}", text=f"{shown} on {kernel.arch}", source=kernel.source),),
        Scope(((kernel.arch, None),), "the kernel's published target").shown, quantity.start,
        f"{shown}; cite the build if yours differs" if verdict == CONTRADICTED else None,
        (KIND, kernel.name, kind, quantity.high),
    )  # fmt: skip
