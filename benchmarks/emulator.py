"""What executing kernels on the CPU costs: `kb verify` on the published problem, rate, translation; beside tinygrad's.

    python benchmarks/emulator.py [--threads 1 2] [--repeat 2] [--write benchmarks/results/emulator.json]
        [--tinygrad CHECKOUT --tinygrad-python PYTHON]

`verify`: `kb verify step3_nchw_lds --shape paper` as a fresh process. Cold starts with an empty workspace, so that the
kernel is compiled by clang, translated and compiled by LLVM; cached has all three. Lane-instructions are wave
instructions times 64, over the wall clock of the launch of the paper shape alone, checks included.

`translation`: seconds from decoded instructions to LLVM IR and from IR to host code, one thread, no cache, against
the instructions of the kernel, for kernels and repetitions of a straight piece of code.

`tinygrad`: the same code object, arguments and workgroups on tinygrad's emulator (in the tests of its repository, so a
checkout is needed; not a dependency of ours), both on one thread, one after the other in this run, second launches
timed, outputs compared. The ratio is all that this is for: ours also checks every access.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kbserver.core.paths import Roots, current_roots, use_roots  # noqa: E402
from kbserver.emulator.kernel import load_kernel  # noqa: E402
from kbserver.emulator.machine import Machine  # noqa: E402
from kbserver.emulator.memory import Memory  # noqa: E402
from kbserver.runs.task import find_kernel  # noqa: E402
from kbserver.toolchain.assembly import parse_assembly  # noqa: E402
from kbserver.toolchain.build import build  # noqa: E402
from kbserver.toolchain.link import code_object  # noqa: E402
from kbserver.toolchain.sources import from_file, from_text  # noqa: E402

KERNEL, ARCH = "step3_nchw_lds", "gfx950"
SHARED_KERNEL = "step1_naive"
"""tinygrad's emulator has no direct loads into LDS, and its process dies at ds_read2_b32 of the kernels with a tile."""
SHARED_SIZES = {"C": 8, "D": 5, "H": 13, "W": 48}
"""Sizes of the launch that both emulators run: 59 workgroups of 4 wavefronts."""
REPETITIONS = (50, 200, 800, 3200)


def machine() -> dict[str, Any]:
    """Describe this machine without naming it."""
    import llvmlite
    from llvmlite import binding

    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "processor": model,
        "llvm_cpu": binding.get_host_cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "llvmlite": llvmlite.__version__,
        "llvm": ".".join(map(str, binding.llvm_version_info)),
        "load_average_before": round(os.getloadavg()[0], 2),
    }


def verify_once(workspace: Path, threads: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "kbserver", "--workspace", str(workspace), "verify", KERNEL, "--shape", "paper"]
    command += ["--arch", ARCH, "--device", "emulator", "--threads", str(threads), "--seed", "1", "--json"]
    started = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    wall_s = time.perf_counter() - started
    report = json.loads(done.stdout)
    if report.get("verdict") != "PASS":
        raise SystemExit(f"kb verify did not pass: {done.stdout[:500]}{done.stderr[:500]}")
    launch = next(line for line in report["launches"] if line["shape"] == "paper")
    return {
        "process_s": round(wall_s, 2),
        "parts_s": {key: value for key, value in report["times"].items() if key.endswith("_s")},
        "paper_launch_s": round(launch["wall_s"], 3),
        "wave_instructions": launch["wave_instructions"],
        "lane_instructions_per_s": round(64 * launch["wave_instructions"] / launch["wall_s"]),
        "elements": report["elements"],
    }


def verify_times(threads: Sequence[int], repeat: int) -> dict[str, Any]:
    """Return cold and cached runs for each number of threads; the best of `repeat` by the time of the process."""
    result: dict[str, Any] = {}
    for count in threads:
        cold, cached = [], []
        for _ in range(repeat):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(verify_once(Path(folder), count))
                cached.append(verify_once(Path(folder), count))
        result[f"threads_{count}"] = {
            "cold": min(cold, key=lambda run: run["process_s"]),
            "cached": min(cached, key=lambda run: run["process_s"]),
            "all_process_s": {"cold": [r["process_s"] for r in cold], "cached": [r["process_s"] for r in cached]},
        }
    return result


def straight_code(repetitions: int) -> str:
    """Return a kernel whose code grows with `repetitions` and has no loop: multiply-adds, integer steps and loads."""
    body = "\n".join(
        f"  a = __builtin_fmaf(a, b, in[t + {3 * place}]); n = (n ^ {7919 * place + 1}) * 3 + (int)a; b += (float)n;"
        for place in range(repetitions // 10)
    )
    return (
        '#include <hip/hip_runtime.h>\nextern "C" __global__ void straight(const float* in, float* out) {\n'
        f"  int t = threadIdx.x, n = t; float a = 0.f, b = 1.f;\n{body}\n  out[t] = a + b + (float)n;\n}}\n"
    )


def translation() -> list[dict[str, Any]]:
    """Return the time from decoded instructions to host code against their number."""
    jobs = []
    for name in ("step1_naive", "step2_nhwc", KERNEL, "step4_mfma", "step5_sgb"):
        task, variant = find_kernel(name)
        built = build(from_file(task.source(variant)), ARCH, defines=task.defines(variant, "paper"))
        jobs.append((name, built))
    jobs += [(f"straight_{count}", build(from_text(straight_code(count)), ARCH)) for count in REPETITIONS]
    rows = []
    for name, built in jobs:
        started = time.perf_counter()
        program = parse_assembly(built.assembly_text)
        kernel = load_kernel(program)
        read_s = time.perf_counter() - started
        ready = Machine(kernel)
        total = ready.translate_s + ready.code.compile_s
        rows.append(
            {
                "kernel": name,
                "instructions": len(kernel.code),
                "read_s": round(read_s, 4),
                "translate_s": round(ready.translate_s, 4),
                "compile_s": round(ready.code.compile_s, 3),
                "ms_per_instruction": round(1e3 * total / len(kernel.code), 3),
            }
        )
    return rows


def shared_problem() -> tuple[str, dict[str, np.ndarray]]:
    """Return (assembly text, arrays by argument) of the launch that both emulators run."""
    task, variant = find_kernel(SHARED_KERNEL)
    built = build(from_file(task.source(variant)), ARCH)
    channels, depth, height, width = SHARED_SIZES.values()
    rng = np.random.default_rng(3)
    shapes = {"input": (channels, depth, height, width), "weight": (channels, 3, 5, 5)}
    arrays = {
        name: (rng.standard_normal(shape, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16)
        for name, shape in shapes.items()
    }
    arrays["output"] = np.zeros((channels, depth - 2, height, width), np.uint16)
    return built.assembly_text, arrays


def beside_tinygrad(checkout: Path, python: str) -> dict[str, Any]:
    """Run the same launch on both emulators and return their times and the ratio."""
    text, arrays = shared_problem()
    numbers, block = list(SHARED_SIZES.values()), (256, 1, 1)
    grid = (-(-arrays["output"].size // block[0]), 1, 1)
    ready = Machine(load_kernel(parse_assembly(text)))
    times, outcome, output = [], None, None
    for _ in range(5):
        memory = Memory()
        arguments = [memory.buffer(name, arrays[name]) for name in ("input", "weight")]
        arguments += [memory.output("output", arrays["output"].shape, np.uint16), *map(np.int32, numbers)]
        outcome = ready.launch(memory, arguments, grid=grid, block=block, threads=1)
        times.append(outcome.wall_s)
        output = memory.buffers[-1].array.copy()
    assert outcome is not None and output is not None
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "kernel.co").write_bytes(code_object(text, ARCH))
        np.savez(place / "arrays.npz", **arrays)
        (place / "launch.json").write_text(
            json.dumps({"numbers": numbers, "lds_bytes": ready.kernel.entry.lds_bytes, "grid": grid, "block": block})
        )
        child = ROOT / "benchmarks" / "tinygrad_emulator.py"
        # The child runs in its own Python: kbserver is not installed there, nor tinygrad here.
        done = subprocess.run([python, str(child), str(checkout), folder], check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"tinygrad's emulator did not run: {done.stderr[-2000:]}")
        theirs = json.loads(done.stdout.splitlines()[-1])
        same = float((np.load(place / "output.npy") == output).mean())
    waves, ours = outcome.counts.wave_instructions, statistics.median(times)
    return {
        "kernel": SHARED_KERNEL,
        "arch": ARCH,
        "sizes": SHARED_SIZES,
        "wave_instructions": waves,
        "threads": 1,
        "kbserver_s": round(ours, 5),
        "tinygrad_s": round(theirs["second_launch_s"], 3),
        "tinygrad_first_launch_s": round(theirs["first_launch_s"], 3),
        "tinygrad_source": theirs["source"],
        "kbserver_lane_instructions_per_s": round(64 * waves / ours),
        "tinygrad_lane_instructions_per_s": round(64 * waves / theirs["second_launch_s"]),
        "ratio": round(theirs["second_launch_s"] / ours, 1),
        "equal_outputs": same,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=2, help="runs of kb verify of each kind; the best one counts")
    parser.add_argument("--tinygrad", type=Path, help="a checkout of tinygrad: its emulator runs too")
    parser.add_argument("--tinygrad-python", default=sys.executable, help="a Python with tinygrad's needs and numpy")
    parser.add_argument("--write", type=Path, help="write the figures to this JSON file")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"machine": machine()}
    with tempfile.TemporaryDirectory() as folder, use_roots(Roots(current_roots().content, Path(folder), "benchmark")):
        report["translation"] = translation()
        if arguments.tinygrad:
            report["tinygrad"] = beside_tinygrad(arguments.tinygrad.resolve(), arguments.tinygrad_python)
    report["verify"] = {"kernel": KERNEL, "arch": ARCH, "shape": "paper"}
    report["verify"] |= verify_times(arguments.threads, arguments.repeat)
    report["machine"]["load_average_after"] = round(os.getloadavg()[0], 2)
    print(json.dumps(report, indent=2))
    if arguments.write:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        arguments.write.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
