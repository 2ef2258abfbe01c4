"""The process that calls NVRTC: `python -m kbserver.toolchain.nvrtc_child SOURCE PTX OPTION...`, in a build folder.

A library cannot be limited, a process can. What happened is in `result.json`.
"""

from __future__ import annotations

import ctypes
import json
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from kbserver.core.libraries import candidates


def compile_source(source: str, ptx: str, options: list[str]) -> dict[str, Any]:
    """Compile `src/SOURCE`; returns what became of it."""
    library = _library()
    if library is None:
        return {"missing": "no libnvrtc on this machine", "built": False, "log": "", "version": ""}
    major, minor = c_int(), c_int()
    library.nvrtcVersion(byref(major), byref(minor))
    program = c_void_p()
    text = Path("src", source).read_bytes()
    library.nvrtcCreateProgram(byref(program), c_char_p(text), source.encode(), 0, None, None)
    words = (c_char_p * len(options))(*[option.encode() for option in options])
    status = library.nvrtcCompileProgram(program, len(options), words)
    if status == 0:
        Path(ptx).write_bytes(_text(library.nvrtcGetPTXSize, library.nvrtcGetPTX, program))
    log = _text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program).decode("utf-8", "replace")
    version = f"{major.value}.{minor.value}"
    return {"missing": None, "built": status == 0, "log": log.strip(), "version": version}


def _text(size_of: Any, get: Any, program: c_void_p) -> bytes:
    size = c_size_t()
    size_of(program, byref(size))
    buffer = ctypes.create_string_buffer(max(1, size.value))
    get(program, buffer)
    return buffer.value


def _library() -> ctypes.CDLL | None:
    for path in candidates("nvrtc"):
        if "builtins" in path:
            continue
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


if __name__ == "__main__":
    answer = compile_source(sys.argv[1], sys.argv[2], sys.argv[3:])
    Path("result.json").write_text(json.dumps(answer), encoding="utf-8")
