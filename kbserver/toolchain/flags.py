"""Which compiler flags and defines a caller may pass: an allow-list, because a flag can read and write files.

Isolation confines what the compiler reads; the list keeps a build what its build id says it is (no flag may change the
target, the language, the output or the set of input files).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kbserver.core.errors import UsageError

MAX_FLAGS = 64
MAX_LENGTH = 1000

# -f options are listed by name: the family also holds -fplugin=, -fprofile-use=, -fmodule-file=, -fdump-...
_F_NAMES = """
approx-func associative-math bracket-depth constexpr-depth constexpr-loop-limit constexpr-steps
cuda-flush-denormals-to-zero denormal-fp-math denormal-fp-math-f32 exceptions experimental-new-constant-interpreter
fast-math finite-math-only fp-contract fp-model gpu-flush-denormals-to-zero
hip-fp32-correctly-rounded-divide-sqrt honor-infinities honor-nans inline inline-functions inline-hint-functions
jump-tables lax-vector-conversions math-errno merge-all-constants ms-extensions offload-uniform-block
optimize-sibling-calls protect-parens reciprocal-math rounding-math rtti signed-char signed-zeros slp-vectorize
strict-aliasing strict-enums strict-overflow template-depth trapping-math unroll-loops unsafe-math-optimizations
unsigned-char vectorize verbose-asm wrapv zero-initialized-in-bss
"""

# -m options that AMDGPU has and that keep the target; -mcpu and -march would change it.
_M_NAMES = """
amdgpu-ieee cumode fma inline-all-stringops stack-alignment tgsplit unsafe-fp-atomics wavefrontsize64
code-object-version frame-pointer memcpy-inline
"""

# LLVM options of the back end's own tuning, given as `-mllvm -NAME[=VALUE]`.
_LLVM_NAMES = (
    r"(?:amdgpu|si|gcn|enable|disable|misched|sched|unroll|inline|inlinehint|greedy|regalloc|licm|lsr|slp|jump-threading"
    r"|pragma-unroll|post|pre|machine-sink|verify-misched|early-ifcvt)[a-z0-9-]*"
)
_VALUE = r"[A-Za-z0-9_.,:+-]*"

_ALLOWED = tuple(
    re.compile(pattern)
    for pattern in (
        r"-O(?:[0-3sz]|fast)?",
        rf"-f(?:no-)?(?:{'|'.join(_F_NAMES.split())})(?:={_VALUE})?",
        rf"-m(?:no-)?(?:{'|'.join(_M_NAMES.split())})(?:={_VALUE})?",
        r"-W(?:no-)?(?:error=)?[a-z0-9+-]+(?:=[0-9]+)?|-w|-pedantic(?:-errors)?",
        r"-std=(?:c|gnu)\+\+(?:11|14|17|20|23|26|1z|2a|2b|2c)",
        r"-Rpass(?:-missed|-analysis)?=[A-Za-z0-9_.*|-]{1,100}",
        r"-g[0-3]?|-gline-tables-only|-g(?:no-)?column-info|-gdwarf-[45]",
        rf"--param=[a-z0-9-]+={_VALUE}",
    )
)
_PAIRS = {
    "-mllvm": re.compile(rf"-{{1,2}}{_LLVM_NAMES}(?:={_VALUE})?"),
    "--param": re.compile(rf"[a-z0-9-]+={_VALUE}"),
}
_MACRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MACRO_WITH_ARGUMENTS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\([A-Za-z0-9_, .]*\))?")

_REASONS = (
    (("-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "--sysroot", "-isysroot", "-B"),
     "it adds files to the build: quoted includes are found in the folder of the file itself"),
    (("-o", "-MF", "-MD", "-MMD", "-save-temps", "--save-temps", "-fsave", "-ftime", "-fdump", "-dump"),
     "it writes a file"),
    (("@",), "response files are not read"),
    (("-mcpu", "-march", "-mtune", "--offload-arch", "--target", "-target", "--cuda-gpu-arch"),
     "the target is the argument `arch`"),
    (("-mxnack", "-mno-xnack", "-msram-ecc", "-mno-sram-ecc"),
     "no flag of today's clang: features stand behind the target, as in arch gfx942:xnack-"),
    (("-x", "-S", "-c", "-E"), "the build decides language and output"),
    (("-D", "-U"), "write -DNAME or -DNAME=VALUE with NAME a macro name"),
)  # fmt: skip


def checked_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Return the flags, each allowed by the table. Raises UsageError naming the first that is not, and why."""
    if len(flags) > MAX_FLAGS:
        raise UsageError(f"more than {MAX_FLAGS} compiler flags", where="flags")
    words = [word for flag in flags for word in (flag.split() if flag.startswith(("-mllvm ", "--param ")) else [flag])]
    result: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        pair = _PAIRS.get(word)
        if pair is not None:
            value = words[position + 1] if position + 1 < len(words) else ""
            if not pair.fullmatch(value):
                raise _refused(f"{word} {value}".strip())
            result += [word, value]
            position += 2
            continue
        result.append(_checked_word(word))
        position += 1
    return tuple(result)


def _checked_word(word: str) -> str:
    if len(word) <= MAX_LENGTH:
        if word[:2] in ("-D", "-U"):
            name, _, value = word[2:].partition("=")
            pattern = _MACRO_WITH_ARGUMENTS if word[1] == "D" else _MACRO
            if pattern.fullmatch(name) and "\n" not in value and "\r" not in value:
                return word
        elif any(pattern.fullmatch(word) for pattern in _ALLOWED):
            return word
    raise _refused(word)


def _refused(word: str) -> UsageError:
    shown = word if len(word) <= 60 else word[:57] + "..."
    reason = next((why for starts, why in _REASONS if word.startswith(starts)), "it is not on the list of allowed ones")
    return UsageError(
        f"compiler flag {shown!r} is refused: {reason}",
        where="flags",
        hint="allowed: -O*, -D, -U, -std=, -W*, -Rpass*=, -g, --param, -mllvm -amdgpu-*, -f and -m of code generation",
    )


def define_flags(defines: Mapping[str, str]) -> tuple[str, ...]:
    """Return `-DNAME=VALUE` for each define, in the order of the names; without a value, NAME is 1 as with `-D NAME`.

    Raises UsageError for a bad name or value.
    """
    if len(defines) > MAX_FLAGS:
        raise UsageError(f"more than {MAX_FLAGS} defines", where="defines")
    words = []
    for name, value in sorted(defines.items()):
        if not _MACRO.fullmatch(name) or len(name) > 200:
            raise UsageError(f"{name[:60]!r} is not a macro name", where="defines", hint="letters, digits and _")
        if len(value) > MAX_LENGTH or any(ch in value for ch in "\n\r\0"):
            raise UsageError(f"the value of {name} is too long or has a line break", where="defines")
        words.append(f"-D{name}={value}" if value else f"-D{name}")
    return tuple(words)
