"""What `check_claims` holds texts against, from the content root and the workspace in force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kbserver.claims.isa_world import IsaWorld
from kbserver.claims.kernels import load_kernels
from kbserver.claims.world import BuildFigures, World
from kbserver.core.sources import sources
from kbserver.core.targets import targets
from kbserver.hardware.facts import load_facts
from kbserver.hardware.known_claims import load_known_claims
from kbserver.isa.table import instructions

_FIGURES = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "vgpr_spills", "sgpr_spills")


def current_world() -> World:
    """Return the world of the content root in force."""
    isa = IsaWorld(instructions())
    return World(
        facts=load_facts(),
        targets=targets(),
        exists=isa.exists,
        is_family=isa.is_family,
        replacement=isa.replacement,
        canonical=isa.canonical,
        elsewhere=isa.elsewhere,
        isa_source=isa.source,
        is_document=_is_document,
        resolve=_title,
        build=_build,
        run=_run,
        sources=sources(),
        kernels=load_kernels(),
        known=load_known_claims(),
    )


def _title(ref: str) -> str:
    """Return the title of what a ref names. Raises KbError when nothing has it."""
    from kbserver.ops.lesson_evidence import SCHEMES, look_up
    from kbserver.ops.passages import open_ref  # imported here: it loads the documents

    scheme, colon, _ = ref.partition(":")
    return look_up(ref).title if colon and scheme in SCHEMES else open_ref(ref).title


def _is_document(path: str) -> bool:
    from kbserver.ops.documents import library

    return path in library().index().documents


def _build(build_id: str) -> BuildFigures:
    from kbserver.toolchain.assembly import parse_assembly
    from kbserver.toolchain.build import load_build
    from kbserver.toolchain.resources import kernel_resources

    build = load_build(build_id)
    kernels = {}
    for function in parse_assembly(build.assembly_text).kernels:
        taken = kernel_resources(function)
        known = {name: getattr(taken, name) for name in _FIGURES}
        kernels[function.name] = {name: value for name, value in known.items() if value is not None}
    return BuildFigures(build_id, build.arch, f"{build.compiler_version} ({build.compiler_kind})", kernels)


def _run(run_id: str) -> Mapping[str, Any]:
    from kbserver.runs.records import load_run

    record = load_run(run_id)
    return {**record["result"], "kind": record["kind"]}
