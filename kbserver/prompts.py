"""MCP prompts: three ways of working that lead a model through the tools that are really there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kbserver.ops import Operation


def add_prompts(server: Any, served: Mapping[str, Operation]) -> None:
    """Register the prompts; steps whose tool is not served are left out, so that no prompt names a missing tool."""

    def steps(*lines: tuple[str, str]) -> str:
        present = [text for tool, text in lines if not tool or tool in served]
        return "\n".join(f"{number}. {text}" for number, text in enumerate(present, 1))

    @server.prompt(title="Optimize a kernel with evidence")
    def optimize_kernel(kernel: str, arch: str = "gfx950") -> str:
        """Find the bottleneck of a HIP kernel, change one thing, prove it, record it."""
        return (
            f"Optimize `{kernel}` for {arch}. Every number that you state comes from a tool result or a source.\n"
            + steps(
                ("knowledge_map", "Call knowledge_map, then read the documents that fit the kernel's bottleneck."),
                (
                    "search",
                    "Search lessons first (kind=lesson): somebody may have tried your idea, and it may have failed.",
                ),
                (
                    "compile_kernel",
                    f"Call compile_kernel for {arch}: note registers, LDS, spills, occupancy and its limiter.",
                ),
                ("inspect_assembly", "Read the hot loop with inspect_assembly before you explain it."),
                ("hardware_fact", "Take limits and peaks from hardware_fact; say unknown where it says unknown."),
                ("", "Change one thing, compile again, and compare the figures side by side."),
                ("verify_kernel", "Verify against the reference before you look at speed."),
                ("time_kernel", "Time it; without a GPU say `not measured`, never estimate a time."),
                ("", "A time that no GPU measured does not exist: without one, report counted work only."),
                (
                    "record_lesson",
                    "Record what you learned with record_lesson, also when it failed, with build ids as evidence.",
                ),
            )
        )

    @server.prompt(title="Review the claims of a text")
    def review_claims(text: str) -> str:
        """Check each hardware claim of a write-up against sources."""
        return (
            "Review the text below. List every checkable claim with a verdict: supported, contradicted, unsourced or "
            "unknown, each with the ref that decides it.\n"
            + steps(
                ("check_claims", "Call check_claims on the text."),
                ("hardware_fact", "Check hardware numbers with hardware_fact for the product that the text names."),
                ("occupancy", "Recompute occupancy with occupancy."),
                ("compile_kernel", "Check register, LDS and spill figures with compile_kernel."),
                ("search", "Search for the rest; what nothing supports is unsourced, not false."),
            )
            + f"\n\nText:\n{text}"
        )

    @server.prompt(title="Write a post-mortem")
    def write_post_mortem(kernel: str, arch: str = "gfx950") -> str:
        """Write up an optimization with what worked, what failed and what nobody knows."""
        return (
            f"Write the post-mortem of the work on `{kernel}` ({arch}): goal, starting figures, each attempt with its "
            "evidence and decision (kept or reverted), final figures, open questions.\n"
            + steps(
                ("search", "Collect the lessons and builds of this kernel with search."),
                ("", "Mark every figure with the build id or source it comes from; mark times with device and method."),
                ("check_claims", "Run check_claims on the draft and correct what is contradicted."),
                ("record_lesson", "Record one lesson for each finding that would save the next person an hour."),
            )
        )
