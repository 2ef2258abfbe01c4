"""LLVM's `llvm-mc` in batches: many lines in, for each line its encoding or why it was refused."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbserver.core.errors import Unavailable
from kbserver.core.process import Finished, Limits, run_limited

TRIPLE = "amdgcn-amd-amdhsa"
_LIMITS = Limits(wall_s=300, output_bytes=512 << 20, file_bytes=512 << 20)
_CODE = re.compile(r"^\t(?P<text>[^.;\s].*?)\s*(?:;|//) encoding: \[(?P<bytes>[^\]]*)\]")
_LABEL = re.compile(r"^L(\d+):$")
_ERROR = re.compile(r"^[^\n:]*:(?P<line>\d+):\d+: error: (?P<message>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Decoded:
    """One instruction as LLVM prints it, with its bytes."""

    text: str
    code: bytes


@dataclass(frozen=True)
class LlvmMc:
    """One `llvm-mc` program and its version, such as 22.1.8."""

    path: str
    version: str

    def disassemble(self, arch: str, words: Iterable[bytes]) -> list[Decoded]:
        """Return the words that decode, and encode again to the very same bytes. The order is that of `words`."""
        wanted = list(dict.fromkeys(words))
        # Brackets keep one word apart from the next: without them a word that ends early swallows its neighbour.
        text = "\n".join(f"[{' '.join(f'0x{byte:02x}' for byte in word)}]" for word in wanted)
        done = self._run(text, "--disassemble", f"-mcpu={arch}")
        known = set(wanted)
        found = {one.code: one for one in decoded(done.stdout) if one.code in known}
        return [found[word] for word in wanted if word in found]

    def assemble(self, arch: str, lines: Sequence[str]) -> list[bytes | str]:
        """Return for each line its bytes, or the message with which it was refused."""
        if not lines:
            return []
        # A label ahead of each line tells which line an encoding belongs to: refused lines print nothing.
        done = self._run("".join(f"L{number}:\n{line}\n" for number, line in enumerate(lines)), f"-mcpu={arch}")
        results: list[bytes | str] = ["no instruction"] * len(lines)
        for match in _ERROR.finditer(done.stderr):
            results[int(match["line"]) // 2 - 1] = match["message"]
        number = 0
        for line in done.stdout.splitlines():
            label = _LABEL.match(line)
            if label:
                number = int(label[1])
            for one in decoded(line):
                results[number] = one.code
        return results

    def _run(self, text: str, *arguments: str) -> Finished:
        with tempfile.TemporaryDirectory(prefix="kb-isa-") as folder:
            source = Path(folder) / "lines"
            source.write_text(text + "\n", encoding="ascii")
            return run_limited(
                [self.path, f"-triple={TRIPLE}", "--show-encoding", *arguments, str(source)],
                limits=_LIMITS,
                what="llvm-mc",
            )


def decoded(output: str) -> Iterable[Decoded]:
    """Yield the instructions in the output of `--show-encoding`."""
    for line in output.splitlines():
        match = _CODE.match(line)
        if match:
            code = bytes(int(byte, 16) for byte in match["bytes"].split(",") if byte.startswith("0x"))
            yield Decoded(" ".join(match["text"].split()), code)


def find_llvm_mc(version: str | None = None) -> LlvmMc:
    """Return an `llvm-mc` on PATH, of `version` when given. Raises Unavailable."""
    major = version.split(".")[0] if version else ""
    seen = []
    for name in dict.fromkeys((f"llvm-mc-{major}" if major else "llvm-mc", "llvm-mc")):
        path = shutil.which(name)
        if path is None:
            continue
        done = run_limited([path, "--version"], limits=Limits(wall_s=20), what="llvm-mc")
        match = re.search(r"version (\d+\.\d+\.\d+)", done.stdout)
        found = match[1] if match else "unknown"
        if match and version in (None, found):
            return LlvmMc(path, found)
        seen.append(f"{path} is {found}")
    raise Unavailable(
        f"no llvm-mc{' ' + version if version else ''} on PATH",
        where="; ".join(seen) or None,
        hint="install the package llvm of that version",
    )
