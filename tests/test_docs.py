"""Documents that run: every `$ kb ...` of README.md and docs/ is executed, and the lines shown after it must appear."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kbserver.cli import main
from kbserver.core.paths import Roots

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# These start servers or depend on the machine: they have tests of their own.
NOT_RUN = ("kb serve", "kb demo", "kb doctor", "kb device", "kb time")


def console_blocks(page: Path) -> list[str]:
    return re.findall(r"^```console\n(.*?)^```$", page.read_text("utf-8"), flags=re.M | re.S)


def examples(block: str) -> list[tuple[str, list[str]]]:
    """Return (command, lines shown after it) of one block; a line of dots stands for lines left out."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:].split("  #")[0].strip(), []))
        elif found and line.strip() not in ("", "..."):
            found[-1][1].append(line.strip())
    return found


def run(command: str, roots: Roots, monkeypatch: pytest.MonkeyPatch, *, may_fail: bool) -> str:
    words = shlex.split(command)
    assert words[0] == "kb", f"only kb commands stand in console blocks: {command}"
    monkeypatch.setenv("KB_ROOT", str(roots.content))
    monkeypatch.setenv("KB_WORKSPACE", str(roots.workspace))
    monkeypatch.chdir(ROOT)

    import click

    @click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []})
    @click.pass_context
    def kb(ctx: click.Context) -> None:
        main(ctx.args)

    outcome = CliRunner().invoke(kb, words[1:])
    assert outcome.exit_code in ((0, 1, 2, 3) if may_fail else (0, 1)), f"{command}: {outcome.output}"
    return outcome.output


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_documented_commands_print_what_the_page_shows(
    page: Path, roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block in console_blocks(page):
        for command, shown in examples(block):
            if command.startswith(NOT_RUN) or (command.endswith("--device hip") and Path("/dev/kfd").exists()):
                continue
            if not command.startswith("kb "):
                pytest.fail(f"{page.name}: {command!r} is not a kb command; use a ```sh block")
            # A page that shows an error means it; any other error is a fault of the page.
            may_fail = any(line.startswith(("kb: ", "not measured: ")) for line in shown)
            text = run(command, roots, monkeypatch, may_fail=may_fail)
            output = [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]
            position = 0
            for line in shown:
                wanted = re.sub(r"\s+", " ", line)
                matches = [n for n in range(position, len(output)) if wanted in output[n]]
                assert matches, f"{page.name}: `{command}` no longer prints: {line}\n" + "\n".join(output)
                position = matches[0]


def test_every_command_is_documented() -> None:
    from kbserver.ops import operations

    text = "".join(page.read_text("utf-8") for page in PAGES)
    missing = [op.command for op in operations().values() if f"kb {op.command}" not in text]
    assert missing == []


def test_the_figures_of_the_timing_page_are_those_of_the_recorded_report() -> None:
    import json

    report = json.loads((ROOT / "benchmarks/results/h200.json").read_text("utf-8"))
    page = (ROOT / "docs/timing.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (step\w+) \| (.*) \|$", page, flags=re.M))
    assert set(rows) == {name for name in report["kernels"] if re.fullmatch(r"step\w+", name)}
    for name, row in rows.items():
        run = report["kernels"][name]
        cold, torch = run["time"]["cold"], run["time"]["baseline"]["cold"]
        low, high = cold["ci"]
        shown = [run["verify"]["verdict"], f"{cold['median_ms']:.3f}", f"{low:.3f} to {high:.3f}",
                 f"{torch['median_ms']:.3f}", f"{run['time']['ratio']['cold']['median']:.3f}"]  # fmt: skip
        assert row.split(" | ") == shown
    assert report["device"]["name"] == "NVIDIA H200"
    cheats = report["cheats"]
    assert f"{cheats['rejected']} of {cheats['cheats']} rejected" in page
    assert f"{cheats['passed']} of {cheats['honest']} honest kernels passed" in page
    repeat = report["repeat"]
    same, twins = repeat["same"], repeat["twins"]
    told = sum(part["comparisons"] for part in same)
    assert {name for part in same for name in part["verdicts"]} == {"SAME"}
    assert f"SAME in {told} of {told} comparisons" in page
    assert [part["verdicts"] for part in twins] == [{"FASTER": 20}]
    assert "told apart in 20 of 20 comparisons" in page
