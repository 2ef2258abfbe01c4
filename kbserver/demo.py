"""`kb demo`: the main job through a real MCP client session against a server process.

Everything that it prints comes from the server's answers of this run; the published figures are those that the compile
results carry with their source.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from kbserver.core.paths import current_roots
from kbserver.render.document import Document, render_plain

QUESTIONS = (
    ("search", {"query": "How much LDS can one workgroup use on an MI355X?", "limit": 1}),
    ("hardware_fact", {"query": "lds per workgroup", "arch": "gfx950"}),
    ("instruction", {"mnemonic": "v_div_f64", "arch": "gfx90a"}),
    ("search", {"query": "workgroups round robin over XCDs remap for L2 locality", "limit": 1}),
    ("occupancy", {"arch": "gfx950", "vgprs": 86, "lds": 32576, "workgroup": 256}),
    ("occupancy", {"arch": "gfx942", "vgprs": 86, "lds": 32576, "workgroup": 256}),
)
CLAIMS = "On MI350X the LDS is 64 KB per CU, so v_div_f64 spills. The new kernel is 104x faster."
KERNELS = ("step1_naive", "step2_nhwc", "step3_nchw_lds", "step4_mfma", "step5_sgb")
ARCH = "gfx950"


def run_demo() -> int:
    """Run the demo in a workspace of its own, so that nothing stays behind. Returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="kbserver-demo-") as workspace:
        return asyncio.run(_session(Path(workspace)))


async def _session(workspace: Path) -> int:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "kbserver", "--root", str(current_roots().content), "--workspace", str(workspace), "serve"],
        env=dict(os.environ),
    )
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        _say(f"Connected over MCP (stdio): {len(tools)} tools: {', '.join(tool.name for tool in tools)}")
        _title("1. Ask, and get cited answers")
        for name, arguments in QUESTIONS:
            _say(f"> {name}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})")
            _say(_text(await client.call_tool(name, arguments)) + "\n")
        _title(f"2. Compile the five depthwise conv3d kernels for {ARCH}, beside the published figures")
        build_id = await _compile_all(client)
        if build_id is None:
            return 3
        _title("3. Verify the machine code without a GPU: every element against a float64 reference")
        verified = await client.call_tool("verify_kernel", {"name": "step5_sgb", "arch": ARCH})
        _say(_text(verified))
        _title("4. Check what an agent wrote")
        _say(f"> check_claims(text={CLAIMS!r})")
        _say(_text(await client.call_tool("check_claims", {"text": CLAIMS})))
        _title("5. Record a lesson, with the build as its evidence, and find it again")
        status = await _record_and_find(client, build_id)
        return status or int(verified.is_error or (verified.structured_content or {})["verdict"] != "PASS")


async def _compile_all(client: Client) -> str | None:
    rows, build_id, source = [], None, ""
    for name in KERNELS:
        answer = await client.call_tool("compile_kernel", {"name": name, "arch": ARCH})
        if answer.is_error:
            _say(_text(answer))
            return None
        result: dict[str, Any] = answer.structured_content or {}
        kernel = result["kernels"][0]
        published = {item["figure"]: item for item in result["published"]}
        source = next((item["source"]["title"] for item in result["published"]), source)
        rows.append(
            [
                name,
                *(
                    _beside(kernel[key], published.get(figure))
                    for key, figure in (
                        ("vgprs", "vgprs"),
                        ("compiler_waves_per_simd", "waves_per_simd"),
                        ("lds_bytes", "lds_bytes"),
                        ("scratch_bytes", "scratch_bytes"),
                    )
                ),
                kernel["instructions"],
                kernel["occupancy"]["limiter"],
                published["time_ms"]["published"] if "time_ms" in published else None,
            ]
        )
        compiler = result["compiler"]
        build_id = result["build_id"]
    _say(f"Compiler: {compiler['kind']} {compiler['version']}. Each cell: ours (published); published by: {source}.")
    columns = ("kernel", "VGPR", "waves/SIMD", "LDS B", "scratch B", "instructions", "limiter", "published ms")
    _say(render_plain(Document().table(columns, rows)))
    _say("The times were measured by the study's authors on MI350X. Here is no AMD GPU: none is measured or estimated.")
    return build_id


def _beside(ours: Any, published: dict[str, Any] | None) -> str:
    return f"{ours} ({published['published']})" if published else f"{ours} (not published)"


async def _record_and_find(client: Client, build_id: str) -> int:
    lesson = {
        "action": "add",
        "title": "Reading one filter row at a time frees registers in the depthwise kernel",
        "body": "Reading one filter row, computing it and reusing its registers keeps 86 VGPRs in step5_sgb where "
        "step3_nchw_lds needs 155; the compiled builds of both show it.",
        "arch": [ARCH],
        "kernels": ["step3_nchw_lds", "step5_sgb"],
        "evidence": [f"build:{build_id}", "kernel:step3_nchw_lds"],
        "status": "verified",
    }
    recorded = await client.call_tool("record_lesson", lesson)
    _say(_text(recorded) + "\n")
    query = "registers freed by reading one filter row at a time"
    _say(f"> search({query!r}, kind='lesson')")
    found = await client.call_tool("search", {"query": query, "kind": "lesson", "limit": 1})
    _say(_text(found))
    if recorded.is_error or found.is_error:
        return 1
    hits = (found.structured_content or {})["hits"]
    same = bool(hits) and hits[0]["ref"] == f"lesson:{(recorded.structured_content or {})['lesson_id']}"
    _say("\nThe lesson that was just recorded is the first hit." if same else "\nThe lesson was NOT found again.")
    return 0 if same else 1


def _text(answer: Any) -> str:
    return "\n".join(block.text for block in answer.content if block.type == "text")


def _title(text: str) -> None:
    _say(f"\n== {text} ==\n")


def _say(text: str) -> None:
    print(text, flush=True)
