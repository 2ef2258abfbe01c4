"""Is the harness to be believed? Tried on the GPU at hand; the report goes to benchmarks/results/.

    python benchmarks/gpu/study.py --device cuda --part kernels|cheats|repeat --out report.json

kernels  every kernel that the device can run: verified and timed at the published shape, against PyTorch's conv3d.
cheats   every cheat of tests/cheats must be rejected by verify or time, every honest control must pass.
repeat   the same kernel against itself must be SAME in 95 of 100 comparisons; a twin that is made about 2 % slower
         must be told apart, each time.

Parts write into one report as they go, so that a part which is cut short leaves what it found: run them one after the
other. `--budget` is the time of one measurement in seconds. Figures are those of the device that the report names.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kbserver.core.errors import KbError  # noqa: E402
from kbserver.devices import find_gpu  # noqa: E402
from kbserver.ops import time_kernel, verify_kernel  # noqa: E402
from kbserver.ops.verify import find_subject, find_threads  # noqa: E402
from kbserver.runs.cases import FILLS, Case, Turn  # noqa: E402
from kbserver.runs.references import find_reference  # noqa: E402
from kbserver.runs.stage import Subject, build_case  # noqa: E402
from kbserver.runs.timing import run as timing_run  # noqa: E402
from kbserver.runs.timing.floor import work_of  # noqa: E402
from kbserver.runs.timing.harness import Harness, Measured, Samples  # noqa: E402
from kbserver.runs.timing.method import STATES, Method  # noqa: E402
from kbserver.runs.timing.verdict import combine, judge  # noqa: E402
from kbserver.toolchain.sources import from_text  # noqa: E402
from tests.cheats.cheat_table import Fixture, fixtures  # noqa: E402

Say = Callable[[str], None]
Keep = Callable[[dict[str, Any]], None]
PORTABLE = ("step1_naive", "step2_nhwc", "step3_plain", "step5_plain")
AMD = (*PORTABLE, "step3_nchw_lds", "step4_mfma", "step5_sgb")
STUDY_SIZES = {"C": 96, "D": 21, "H": 45, "W": 80}
"""A sixteenth of the published problem: 27 MB a launch, and 100 comparisons take minutes, not hours."""
COMPARISONS, TWIN_COMPARISONS = 100, 20
TWIN_STEPS = (4, 8, 16, 32, 64, 128)
TWIN_TARGET = 1.02


def kernels(device: str, budget: float, say: Say, keep: Keep) -> dict[str, Any]:
    """Verify and time every kernel at the published shape."""
    found: dict[str, Any] = {}
    for name in AMD if device == "hip" else PORTABLE:
        report = verify_kernel(name=name, device=device, shape="paper")
        say(f"{name}: {report.verdict}, {report.elements:,} elements, {report.mismatches} wrong")
        timed = time_kernel(name=name, device=device, against="torch", budget=budget)
        say(f"{name}: {timed.cold.median_ms if timed.cold else None} ms cold, {timed.verdict}: {timed.reason}")
        found[name] = {
            "verify": report.model_dump(mode="json", include={"verdict", "shapes", "elements", "mismatches", "max_ulp",
                                                               "second_reference", "compiler", "device"}),
            "time": timed.model_dump(mode="json", exclude={"method", "notes"}),
        }  # fmt: skip
        keep(found)
    pair = time_kernel(name="step5_plain", device=device, against="step3_plain", budget=budget)
    say(f"step5_plain against step3_plain: {pair.verdict}: {pair.reason}")
    found["step5_plain against step3_plain"] = {"time": pair.model_dump(mode="json", exclude={"method", "notes"})}
    found["method"] = pair.method
    return found


def cheats(device: str, budget: float, say: Say, keep: Keep) -> dict[str, Any]:
    """Send every cheat and every honest control through verify, and through time when verify lets it pass."""
    outcomes: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("cheats", "honest"):
            for one in fixtures(kind):
                outcomes[one.name] = {"kind": kind, "mode": one.mode, **_attempt(one, Path(folder), device)}
                say(f"{kind} {one.name}: {outcomes[one.name]}")
    caught = [name for name, one in outcomes.items() if one["kind"] == "cheats" and one["rejected_by"]]
    passed = [name for name, one in outcomes.items() if one["kind"] == "honest" and not one["rejected_by"]]
    return {
        "cheats": sum(one["kind"] == "cheats" for one in outcomes.values()),
        "rejected": len(caught),
        "honest": sum(one["kind"] == "honest" for one in outcomes.values()),
        "passed": len(passed),
        "each": outcomes,
    }


def _attempt(one: Fixture, folder: Path, device: str) -> dict[str, Any]:
    path = str(one.write(folder))
    try:
        report = verify_kernel(path=path, variant=one.kernel, device=device)
        if report.verdict != "PASS":
            return {"rejected_by": "verify", "checks": sorted({finding.check for finding in report.findings})}
        timed = time_kernel(path=path, variant=one.kernel, device=device, shape="small", budget=5.0)
    except KbError as error:
        return {"rejected_by": error.code, "checks": [], "message": error.message[:200]}
    rejected = timed.verdict == "REJECTED"
    return {"rejected_by": "time" if rejected else None, "checks": sorted({f.check for f in timed.findings})}


def repeat(device: str, budget: float, say: Say, keep: Keep) -> dict[str, Any]:
    """Compare a kernel with itself, and with a twin of known slowness, many times on one process."""
    subject = _study_subject(device)
    same = _comparisons(subject, subject, device, COMPARISONS, say, lambda found: keep({"same": found}))
    steps = {step: _comparisons(subject, _twin(subject, step), device, 1, say)["ratios"][0] for step in TWIN_STEPS}
    chosen = min(steps, key=lambda step: abs(1 / steps[step] - TWIN_TARGET))
    twin = _comparisons(subject, _twin(subject, chosen), device, TWIN_COMPARISONS, say)
    return {
        "kernel": "step3_plain",
        "sizes": STUDY_SIZES,
        "same": same,
        "twin": twin | {"slower_by": round(1 / sorted(twin["ratios"])[len(twin["ratios"]) // 2] - 1, 5),
                        "extra_steps": chosen, "twin_over_kernel": {str(k): round(1 / v, 5) for k, v in steps.items()}},
    }  # fmt: skip


def _study_subject(device: str) -> Subject:
    gpu, _ = find_gpu(device)
    subject = find_subject("step3_plain", None, None, None, gpu.arch)
    return Subject(
        subject.task.model_copy(update={"shapes": {**subject.task.shapes, "study": STUDY_SIZES}}), subject.variant,
        subject.snapshot, subject.arch,
    )  # fmt: skip


def _twin(subject: Subject, steps: int) -> Subject:
    """Return the kernel with `steps` dependent multiply-adds more in each of a thread's iterations."""
    text = subject.snapshot.files[subject.snapshot.main].decode()
    line = "    plane_out[pair] = __kb_bf16_pack(left, right);\n"
    assert text.count(line) == 1
    extra = (
        f"    float idle = left;\n#pragma unroll\n    for (int i = 0; i < {steps}; ++i) "
        "idle = fmaf(idle, 0.999f, right);\n    if (idle == 1.2345e30f) left = idle;\n"
    )
    return Subject(subject.task, subject.variant, from_text(text.replace(line, extra + line)), subject.arch)


def _comparisons(
    subject: Subject, against: Subject, device: str, count: int, say: Say, keep: Keep = lambda found: None
) -> dict[str, Any]:
    """Compare two kernels `count` times: each comparison is what `kb time --against` measures after its gate."""
    gpu, _ = find_gpu(device)
    method, dice, reference = Method(), random.Random(2026), find_reference(subject.task)
    case = Case("study", subject.task.dimensions("study"), (0,), (Turn("hardware", True, FILLS[0]),))
    threads, work = find_threads(None), work_of(subject.task.problem, reference, case.sizes)
    setting = timing_run._Setting(subject, case, gpu, None, reference, threads, 60.0, say)
    verdicts: collections.Counter[str] = collections.Counter()
    ratios, widths, pairs = [], [], []
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(contextlib.closing(gpu.process(1800.0)))
        process.scratch(method.flush_bytes)
        where = {"shape": "study", "process": process, "dice": dice}
        sets = max(2, min(8, timing_run.SET_BYTES // (2 * work.nbytes)))
        lanes = []
        for slot, one in (("kernel", subject), ("baseline", against)):
            timing_run._load(process, slot, gpu, build_case(one, case), one)
            lanes.append(timing_run._lane(slot, one, setting, sets, where))
            stack.callback(lanes[-1].close)
        harness = Harness(process, lanes, method, dice, lambda text: None)
        harness.gate()
        harness.warm_up()
        for number in range(count):
            known = harness.measured
            harness.measured = Measured({state: Samples() for state in STATES}, known.empty_ms, known.copy_gb_s)
            harness.measure(60.0)
            found = {state: harness.measured.ratio(state, method.confidence) for state in STATES}
            verdict = combine(judge(found["cold"]), judge(found["warm"]))
            verdicts[verdict.verdict] += 1
            cold = found["cold"]
            assert cold is not None
            ratios.append(round(cold.median, 6))
            widths.append(round(cold.relative_half_width, 6))
            pairs.append(cold.n)
            if number % 10 == 9:
                keep({"comparisons": number + 1, "verdicts": dict(verdicts), "ratios": ratios,
                      "relative_half_widths": widths, "pairs": pairs})  # fmt: skip
                say(f"{number + 1} comparisons: {dict(verdicts)}, last ratios {ratios[-10:]}")
        wrong = [lane.name for lane in lanes if lane.findings.errors]
        interval = harness.measured.interval("cold", "kernel", method.confidence)
    return {
        "comparisons": count, "verdicts": dict(verdicts), "ratios": ratios, "relative_half_widths": widths,
        "pairs": pairs, "cold_ms": interval.median if interval else None, "wrong_outputs": wrong,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", choices=("hip", "cuda"), required=True)
    parser.add_argument("--part", choices=("kernels", "cheats", "repeat"), action="append", required=True)
    parser.add_argument("--budget", type=float, default=20.0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    started = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:6.1f} s] {text}", flush=True)

    report = json.loads(options.out.read_text("utf-8")) if options.out.is_file() else {}
    gpu, _ = find_gpu(options.device)
    identity = gpu.identity
    report["device"] = {
        "name": identity.name, "arch": identity.arch, "driver": identity.driver, "kind": identity.kind,
        "compute_units": identity.compute_units, "memory_bytes": identity.memory_bytes,
    }  # fmt: skip
    report["measured"] = datetime.now(UTC).date().isoformat()
    report["host"] = {"machine": platform.machine(), "python": platform.python_version()}
    report["method_id"] = Method().method_id
    for part in options.part:

        def keep(found: dict[str, Any], part: str = part) -> None:
            report[part] = found
            options.out.write_text(json.dumps(report, indent=1) + "\n", "utf-8")

        keep({"kernels": kernels, "cheats": cheats, "repeat": repeat}[part](options.device, options.budget, say, keep))
    say("done")


if __name__ == "__main__":
    main()
