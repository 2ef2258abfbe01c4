"""clang's `__builtin_amdgcn_*`: which target takes each, what it needs otherwise, and which instructions it becomes.

Names come from the compiler's own string table, signatures from its syntax tree, the rest from compiling one call each.
"""

from __future__ import annotations

import importlib.util
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kbserver.core.errors import Unavailable
from kbserver.core.process import Finished, Limits, run_limited
from kbserver.isa.assembler import TRIPLE
from kbserver.isa.names import base_name

_NAME = re.compile(rb"(?<!\w)__builtin_amdgcn_[a-z0-9_]+(?=\0)")
_DECLARED = re.compile(r"FunctionDecl .* implicit used (__builtin_amdgcn_\w+) '(.*)' extern")
_ERROR = re.compile(r"^[^\n:]*:(\d+):\d+: error: (.*)$", re.MULTILINE)
_NEEDS = re.compile(r"needs target feature (.+)$", re.MULTILINE)
_VECTOR = re.compile(r"__attribute__\(\(__vector_size__\((\d+) \* sizeof\(([\w ]+)\)\)\)\) \2")
_BEHIND = re.compile(r" __attribute__\(\(ext_vector_type\((\d+)\)\)\)$")
_SPACE = re.compile(r"__attribute__\(\(address_space\((\d)\)\)\)")
_SPACES = {"0": "flat", "1": "global", "3": "LDS", "4": "constant", "5": "private", "7": "fat buffer", "8": "buffer"}
_INTEGERS = frozenset(("int", "unsigned int", "_Bool", "short", "unsigned short", "char", "unsigned char"))
LITERALS = (None, "0", "1", "4", "16", "12", "2")
"""Values tried for integer arguments, some of which must be constants; None passes variables."""
_FRAME = frozenset(("s_waitcnt", "s_setpc_b64", "s_nop"))
_MOVES = frozenset(
    (
        "v_mov_b32",
        "v_mov_b64",
        "s_mov_b32",
        "s_mov_b64",
        "v_readfirstlane_b32",
        "s_and_b64",
        "s_xor_b64",
        "s_and_saveexec_b64",
        "s_cbranch_execnz",
        "v_cmp_eq_u64",
        "v_cmp_ne_u32",
        "v_and_b32",
        "v_cndmask_b32",
        "v_accvgpr_read_b32",
        "v_accvgpr_write_b32",
    )
)
"""Instructions that bring arguments into place; named only when the call becomes nothing else."""
_HALF = ("-fnative-half-type", "-fnative-half-arguments-and-returns")
_LIMITS = Limits(wall_s=120, output_bytes=64 << 20)


@dataclass
class Builtin:
    """One builtin: its C signature, and by target what it becomes."""

    name: str
    result: str
    parameters: tuple[str, ...]
    emits: dict[str, list[str]] = field(default_factory=dict)
    needs: str | None = None

    @property
    def signature(self) -> str:
        """The signature in short: `float x4 (bf16 x8, bf16 x8, float x4, int, int, int)`."""
        return f"{_short(self.result)} ({', '.join(map(_short, self.parameters))})"

    def definition(self, number: int, literal: str | None) -> str:
        """Return a function of one line that calls it, with `literal` for every integer argument."""
        declared, passed = [], []
        for place, kind in enumerate(self.parameters):
            if kind == "const char *":
                passed.append('"workgroup"')
            elif kind in _INTEGERS and literal is not None:
                passed.append(literal)
            else:
                declared.append(f"{kind} a{place}")
                passed.append(f"a{place}")
        give = "" if self.result == "void" else "return "
        return f"{self.result} f{number}({', '.join(declared) or 'void'}) {{ {give}{self.name}({', '.join(passed)}); }}"


@dataclass(frozen=True)
class Clang:
    """The clang of the pip package ziglang, asked without any header."""

    path: Path

    @property
    def version(self) -> str:
        done = run_limited([str(self.path), "clang", "--version"], limits=_LIMITS, what="clang")
        match = re.search(r"clang version (\d+\.\d+\.\d+)", done.stdout)
        return match[1] if match else "unknown"

    def names(self) -> list[str]:
        """Return all AMDGPU builtins that it knows, sorted."""
        return sorted({match.group().decode("ascii") for match in _NAME.finditer(self.path.read_bytes())})

    def run(self, arch: str, source: str, *arguments: str) -> Finished:
        with tempfile.TemporaryDirectory(prefix="kb-isa-") as folder:
            path = Path(folder) / "calls.c"
            path.write_text(source, encoding="ascii")
            words = [
                "-cc1",
                "-triple",
                TRIPLE,
                "-target-cpu",
                arch,
                "-ferror-limit",
                "0",
                "-w",
                *_HALF,
                *arguments,
                "-o",
                "-",
            ]
            return run_limited([str(self.path), "clang", *words, str(path)], limits=_LIMITS, what="clang")


def find_clang(version: str) -> Clang:
    """Return ziglang's clang of this version. Raises Unavailable."""
    spec = importlib.util.find_spec("ziglang")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        clang = Clang(Path(place) / "zig")
        if clang.path.is_file() and clang.version == version:
            return clang
    raise Unavailable(f"no ziglang with clang {version}", hint="pip install 'kbserver[compile]'")


def probe_builtins(clang: Clang, archs: Sequence[str], every: int = 1) -> list[Builtin]:
    """Return every builtin, or one in `every`, with the targets that take it."""
    builtins = _declared(clang, archs[-1])[::every]
    for arch in archs:
        for number, calls in _well_formed(clang, arch, builtins).items():
            _compile(clang, arch, builtins[number], calls)
    return builtins


def _compile(clang: Clang, arch: str, builtin: Builtin, calls: Sequence[str]) -> None:
    """Record what the first of `calls` that compiles becomes, or the feature that is missing.

    One compilation a call: the compiler stops at the first missing feature, and the backend may die of a value that
    only it refuses.
    """
    for call in calls:
        done = clang.run(arch, call + "\n", "-S", "-O1")
        needs = _NEEDS.search(done.stderr)
        if done.returncode == 0:
            builtin.emits[arch] = _emitted(done.stdout)
            return
        if needs:
            builtin.needs = builtin.needs or needs[1].replace("'", "")
            return


def _declared(clang: Clang, arch: str) -> list[Builtin]:
    source = "".join(f"void f{n}(void) {{ {name}(); }}\n" for n, name in enumerate(clang.names()))
    done = clang.run(arch, source, "-fsyntax-only", "-ast-dump")
    found = {}
    for name, kind in _DECLARED.findall(done.stdout):
        result, parameters = _split_signature(kind)
        found[name] = Builtin(name, result, parameters)
    return [found[name] for name in sorted(found)]


def _split_signature(kind: str) -> tuple[str, tuple[str, ...]]:
    """Take `int (int, float)` apart; the parentheses of attributes nest, and some attributes stand behind."""
    kind = kind.removesuffix(" __attribute__((noreturn))")
    vector = _BEHIND.search(kind)
    if vector:
        result, parameters = _split_signature(kind[: vector.start()])
        return f"__attribute__((__vector_size__({vector[1]} * sizeof({result})))) {result}", parameters
    depth, end = 0, len(kind) - 1
    for start in range(end, -1, -1):
        depth += (kind[start] == ")") - (kind[start] == "(")
        if depth == 0:
            break
    inside, pieces, depth, current = kind[start + 1 : end], [], 0, ""
    for char in inside:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            pieces.append(current.strip())
            current = ""
        else:
            current += char
    pieces.append(current.strip())
    return kind[:start].strip(), tuple(piece for piece in pieces if piece not in ("", "void", "..."))


def _well_formed(clang: Clang, arch: str, builtins: Sequence[Builtin]) -> dict[int, list[str]]:
    """Return the number of each builtin -> calls that the compiler's checks accept, target features aside."""
    calls: dict[int, list[str]] = {}
    for literal in LITERALS:
        tried = {number: builtin.definition(number, literal) for number, builtin in enumerate(builtins)}
        refused = _errors(clang.run(arch, _source(tried), "-fsyntax-only"))
        for number, text in tried.items():
            if number not in refused and text not in calls.setdefault(number, []):
                calls[number].append(text)
    return {number: texts for number, texts in calls.items() if texts}


def _source(calls: Mapping[int, str]) -> str:
    """Return the functions, the one of number n on line n + 1."""
    return "".join(calls.get(number, "") + "\n" for number in range(max(calls, default=-1) + 1))


def _errors(done: Finished) -> dict[int, str]:
    return {int(line) - 1: message for line, message in reversed(_ERROR.findall(done.stderr))}


def _emitted(assembly: str) -> list[str]:
    """Return the mnemonics of one compiled call, without those of every function and of moving arguments."""
    found = {base_name(line.split()[0]) for line in assembly.splitlines() if re.match(r"\t[a-z]\w+", line)} - _FRAME
    return sorted(found - _MOVES or found)


def _short(kind: str) -> str:
    kind = _VECTOR.sub(lambda match: f"{match[2]} x{match[1]}", kind)
    kind = _SPACE.sub(lambda match: _SPACES.get(match[1], match[1]), kind)
    return " ".join(kind.replace("__bf16", "bf16").replace("__fp16", "half").replace("_Float16", "half").split())
