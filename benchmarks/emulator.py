"""What executing kernels on the CPU costs: `kb verify` on the published problem, rate, translation; beside tinygrad's.

    python benchmarks/emulator.py [--threads 1 2] [--repeat 2] [--write benchmarks/results/emulator.json]
        [--tinygrad CHECKOUT --tinygrad-python PYTHON]

Seconds are wall clock where the name says nothing, and processor time where it ends in `_cpu_s`: on a machine that has
other work to do (see the load averages) only the latter can be compared.

`verify`: `kb verify step3_nchw_lds --shape paper` as a fresh process. Cold starts with an empty workspace, so that the
kernel is compiled by clang, translated and compiled by LLVM; cached has all three.

`rate`: lane-instructions, which are wave instructions times 64, of launches of that kernel with the sizes of the paper
and fewer channels, every access checked.

`translation`: from decoded instructions to LLVM IR and from IR to host code, one thread, no cache, against the number
of instructions, for kernels and repetitions of a straight piece of code.

`tinygrad`: the same code object, arguments and workgroups on tinygrad's emulator (in the tests of its repository, so a
checkout is needed; not a dependency of ours), both on one thread, one after the other in this run, second launches
timed, outputs compared. The ratio is all that this is for: ours also checks every access.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
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
from kbserver.emulator.translate import translate  # noqa: E402
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
BUSY = 0.5
"""Load average from which on wall clock is not to be trusted."""
RATE_CHANNELS = 128
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


def children_cpu_s() -> float:
    """Return the processor time of all processes that this one has waited for, and of those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def verify_once(workspace: Path, threads: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "kbserver", "--workspace", str(workspace), "verify", KERNEL, "--shape", "paper"]
    command += ["--arch", ARCH, "--device", "emulator", "--threads", str(threads), "--seed", "1", "--json"]
    started, cpu = time.perf_counter(), children_cpu_s()
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    wall_s, cpu_s = time.perf_counter() - started, children_cpu_s() - cpu
    report = json.loads(done.stdout)
    if report.get("verdict") != "PASS":
        raise SystemExit(f"kb verify did not pass: {done.stdout[:500]}{done.stderr[:500]}")
    launch = next(line for line in report["launches"] if line["shape"] == "paper")
    return {
        "process_s": round(wall_s, 2),
        "process_cpu_s": round(cpu_s, 2),
        "parts_s": {key: value for key, value in report["times"].items() if key.endswith("_s")},
        "paper_launch_s": round(launch["wall_s"], 3),
        "wave_instructions": launch["wave_instructions"],
        "elements": report["elements"],
    }


def verify_times(threads: Sequence[int], repeat: int) -> dict[str, Any]:
    """Return cold and cached runs for each number of threads; the best of `repeat` by processor time."""
    result: dict[str, Any] = {}
    for count in threads:
        cold, cached = [], []
        for _ in range(repeat):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(verify_once(Path(folder), count))
                cached.append(verify_once(Path(folder), count))
        result[f"threads_{count}"] = {
            "cold": min(cold, key=lambda run: run["process_cpu_s"]),
            "cached": min(cached, key=lambda run: run["process_cpu_s"]),
            "all_process_cpu_s": {
                "cold": [run["process_cpu_s"] for run in cold],
                "cached": [run["process_cpu_s"] for run in cached],
            },
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
        started = time.process_time()
        kernel = load_kernel(parse_assembly(built.assembly_text))
        read_s = time.process_time() - started
        started = time.process_time()
        translate(kernel)
        translate_s = time.process_time() - started
        started = time.process_time()
        Machine(kernel)
        # A machine is translated and compiled; the first is known already.
        compile_s = time.process_time() - started - translate_s
        total = translate_s + compile_s
        rows.append(
            {
                "kernel": name,
                "instructions": len(kernel.code),
                "read_cpu_s": round(read_s, 4),
                "translate_cpu_s": round(translate_s, 4),
                "compile_cpu_s": round(compile_s, 3),
                "cpu_ms_per_instruction": round(1e3 * total / len(kernel.code), 3),
            }
        )
    return rows


def rate(threads: Sequence[int], repeat: int) -> dict[str, Any]:
    """Return lane-instructions per second of launches in this process; the best of `repeat` by processor time."""
    task, variant = find_kernel(KERNEL)
    sizes = task.dimensions("paper")
    built = build(from_file(task.source(variant)), ARCH, defines=task.defines(variant, "paper"))
    ready = Machine(load_kernel(parse_assembly(built.assembly_text)))
    grid, block = (sizes["OD"], RATE_CHANNELS, 1), variant.steps[0].sizes_of("block", sizes)
    rng = np.random.default_rng(3)
    shapes = [(RATE_CHANNELS, sizes["D"], sizes["H"], sizes["W"]), (RATE_CHANNELS, 3, 5, 5)]
    arrays = [
        (rng.standard_normal(shape, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16) for shape in shapes
    ]
    result: dict[str, Any] = {"kernel": KERNEL, "arch": ARCH, "channels": RATE_CHANNELS}
    for count in threads:
        runs = []
        for _ in range(repeat + 1):
            memory = Memory()
            arguments = [memory.buffer(name, array) for name, array in zip(("input", "weight"), arrays, strict=True)]
            arguments.append(memory.output("output", (RATE_CHANNELS, sizes["OD"], sizes["H"], sizes["W"]), np.uint16))
            started = time.process_time()
            outcome = ready.launch(memory, arguments, grid=grid, block=block, threads=count)
            runs.append((time.process_time() - started, outcome.wall_s, outcome.counts.wave_instructions))
        cpu_s, wall_s, instructions = min(runs)
        result[f"threads_{count}"] = {
            "wave_instructions": instructions,
            "launch_s": round(wall_s, 3),
            "launch_cpu_s": round(cpu_s, 3),
            "lane_instructions_per_s": round(64 * instructions / wall_s),
            "lane_instructions_per_cpu_s": round(64 * instructions / cpu_s),
        }
    return result


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
        started = time.process_time()
        outcome = ready.launch(memory, arguments, grid=grid, block=block, threads=1)
        times.append(time.process_time() - started)
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
    waves, ours, other = outcome.counts.wave_instructions, statistics.median(times), theirs["second_launch_cpu_s"]
    return {
        "kernel": SHARED_KERNEL,
        "arch": ARCH,
        "sizes": SHARED_SIZES,
        "wave_instructions": waves,
        "threads": 1,
        "kbserver_cpu_s": round(ours, 5),
        "tinygrad_cpu_s": round(other, 3),
        "tinygrad_first_launch_cpu_s": round(theirs["first_launch_cpu_s"], 3),
        "tinygrad_source": theirs["source"],
        "kbserver_lane_instructions_per_cpu_s": round(64 * waves / ours),
        "tinygrad_lane_instructions_per_cpu_s": round(64 * waves / other),
        "ratio": round(other / ours, 1),
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
        # First: the process keeps what it has compiled, and a kernel that is compiled already would cost nothing.
        report["translation"] = translation()
        report["rate"] = rate(arguments.threads, 3)
        if arguments.tinygrad:
            report["tinygrad"] = beside_tinygrad(arguments.tinygrad.resolve(), arguments.tinygrad_python)
    report["verify"] = {"kernel": KERNEL, "arch": ARCH, "shape": "paper"}
    report["verify"] |= verify_times(arguments.threads, arguments.repeat)
    report["machine"]["load_average_after"] = round(os.getloadavg()[0], 2)
    if report["machine"]["load_average_before"] > BUSY:
        report["machine"]["note"] = "other work was running: processor time can be compared, wall clock cannot"
    print(json.dumps(report, indent=2))
    if arguments.write:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        arguments.write.write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
