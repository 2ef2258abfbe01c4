"""Write `gpu_arch/isa/*.jsonl` from LLVM: `python -m kbserver.isa.generate [--check]`.

`--check` writes nothing and fails when a file would change. The LLVM must be the very version named below: another one
prints some instructions differently.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kbserver.core.paths import current_roots
from kbserver.core.store import write_atomic
from kbserver.isa import mnemonics
from kbserver.isa.assembler import LlvmMc, find_llvm_mc
from kbserver.isa.builtins import Builtin, find_clang, probe_builtins
from kbserver.isa.families import FAMILIES, family_of
from kbserver.isa.forms import Form, enumerate_forms
from kbserver.isa.modifiers import DPP_CONTROLS
from kbserver.isa.probe import probe
from kbserver.isa.table import COLUMNS, FOLDER, TARGETS

# The clang of ziglang and llvm-mc of this version print the same: one number serves both.
LLVM_VERSION = "22.1.8"
PLAIN_MODES = ("", "vaddr", "off", "imm")
"""Ways to address that stand first among the forms: what one meets most."""
COMMAND = "python -m kbserver.isa.generate"


def tables(mc: LlvmMc) -> dict[str, str]:
    """Return file name -> text of every generated file."""
    builtins = "".join(line + "\n" for line in builtin_lines())
    return {**instruction_tables(mc), "builtins.jsonl": _lines(mc, "builtins", ()) + builtins}


def instruction_tables(mc: LlvmMc) -> dict[str, str]:
    """Return file name -> text of the files that need `llvm-mc` alone."""
    with ThreadPoolExecutor() as pool:
        forms = dict(zip(TARGETS, pool.map(lambda arch: _probed(mc, arch), TARGETS), strict=True))
    known = mnemonics.known_mnemonics(mc)
    files = {f"{family}.jsonl": _lines(mc, family, rows) for family, rows in _by_family(_instructions(forms)).items()}
    files["aliases.jsonl"] = _lines(mc, "aliases", _aliases(mc, known, forms))
    files["elsewhere.jsonl"] = _lines(mc, "elsewhere", _elsewhere(mc, known, forms))
    return files


def _probed(mc: LlvmMc, arch: str) -> list[Form]:
    forms = enumerate_forms(mc, arch)
    probe(mc, arch, forms)
    return forms


def _lines(mc: LlvmMc, what: str, rows: Iterable[Mapping[str, Any]]) -> str:
    header = {
        "generated": f"do not edit: {COMMAND}",
        "llvm": mc.version,
        "holds": what,
        **({"columns": COLUMNS, "targets": TARGETS} if what in FAMILIES else {}),
    }
    return "".join(_json(row) + "\n" for row in (header, *rows))


def _json(row: Mapping[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":"))


def _instructions(forms: Mapping[str, Sequence[Form]]) -> list[dict[str, Any]]:
    """Return one row a mnemonic, its forms merged over the targets on which they are the same."""
    merged: dict[str, dict[tuple[Any, ...], list[int]]] = {}
    for number, arch in enumerate(TARGETS):
        for form in forms[arch]:
            merged.setdefault(form.name, {}).setdefault(_row(form), []).append(number)
    return [
        {"name": name, "forms": [[*row, on] for row, on in sorted(rows.items(), key=_order)]}
        for name, rows in sorted(merged.items())
    ]


def _order(item: tuple[tuple[Any, ...], list[int]]) -> tuple[Any, ...]:
    row, on = item
    return len(row[4]), row[0], row[1] not in PLAIN_MODES, row[1], on


def _row(form: Form) -> tuple[Any, ...]:
    controls = [one.label for one in DPP_CONTROLS if not one.label.startswith(("row_share", "row_xmask", "dpp8"))]
    modifiers = form.modifiers
    if set(controls) <= set(modifiers):
        modifiers = ["dpp-controls", *(label for label in modifiers if label not in controls)]
    return (
        form.encoding.format,
        form.mode,
        form.encoding.opcode_of(form.code),
        form.line.text(),
        form.code.hex(),
        " ".join(form.operands),
        " ".join(label.replace(" ", "+") for label in modifiers),
    )


def _by_family(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    families: dict[str, list[Mapping[str, Any]]] = {family: [] for family in FAMILIES}
    for row in rows:
        families[family_of(row["name"])].append(row)
    return families


def _aliases(mc: LlvmMc, known: Sequence[str], forms: Mapping[str, Sequence[Form]]) -> list[dict[str, Any]]:
    on: dict[str, dict[str, str]] = {}
    for arch in TARGETS:
        taken = {name for name in mnemonics.supported(mc, arch, known) if not mnemonics.is_internal(name)}
        for name, canonical in mnemonics.aliases(mc, arch, taken, forms[arch]).items():
            on.setdefault(name, {})[arch] = canonical
    return [{"name": name, "on": on[name]} for name in sorted(on)]


def builtin_lines(every: int = 1) -> list[str]:
    """Return the lines of `builtins.jsonl`, or of one builtin in `every`. Needs ziglang."""
    found = probe_builtins(find_clang(LLVM_VERSION), TARGETS, every)
    return [_json(_builtin(one)) for one in found]


def _builtin(one: Builtin) -> dict[str, Any]:
    needs = {"needs": one.needs} if one.needs else {}
    return {"name": one.name, "signature": one.signature, "on": one.emits, **needs}


def _elsewhere(mc: LlvmMc, known: Sequence[str], forms: Mapping[str, Sequence[Form]]) -> list[dict[str, Any]]:
    """Return the names that none of our targets takes, each with the other LLVM targets that do."""
    ours = {form.name for arch in TARGETS for form in forms[arch]}
    for arch in TARGETS:
        ours |= mnemonics.supported(mc, arch, known)
    names = [name for name in known if name not in ours and not mnemonics.is_internal(name)]
    on = {arch: mnemonics.supported(mc, arch, names) for arch in mnemonics.OTHER_TARGETS}
    return [{"name": name, "on": [arch for arch in on if name in on[arch]]} for name in names]


def differences(files: Mapping[str, str], folder: Path) -> list[str]:
    """Return the names of the files whose content in `folder` is another one."""
    return [
        name
        for name, text in files.items()
        if not (folder / name).is_file() or (folder / name).read_text("utf-8") != text
    ]


def main() -> None:
    """Write the tables, or with --check compare them."""
    parser = argparse.ArgumentParser(
        prog=COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with the files in place; write nothing")
    arguments = parser.parse_args()
    folder = current_roots().content / FOLDER
    files = tables(find_llvm_mc(LLVM_VERSION))
    changed = differences(files, folder)
    if arguments.check:
        raise SystemExit(f"differs from what {COMMAND} writes: {', '.join(changed)}" if changed else 0)
    for name in changed:
        write_atomic(folder / name, files[name])


if __name__ == "__main__":
    main()
