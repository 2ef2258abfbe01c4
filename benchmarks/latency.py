"""How long answers take: `kb search` as a fresh process, and MCP `search` beside an echo tool, in one run.

    python benchmarks/latency.py [--calls 300]

The MCP figures come from one stdio session: the echo tool lives in the same server, so protocol and process cost is
the same for both, and the difference is what searching costs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fresh import fresh_search_s

QUERIES = (
    "How much LDS can one workgroup use on MI355X",
    "v_permlane32_swap_b32 gfx942",
    "why does the compiler report occupancy 8",
    "SQ_LDS_BANK_CONFLICT unit",
    "sched_group_barrier mask DS read",
    "XCD remap pid",
)
SERVER = """
from kbserver.server import KbServer
class EchoServer(KbServer):
    async def call_tool(self, name, arguments, context=None):
        if name == "echo":
            from mcp_types import CallToolResult, TextContent
            return CallToolResult(content=[TextContent(type="text", text=arguments["query"])])
        return await super().call_tool(name, arguments, context)
server = EchoServer()
@server.tool(name="echo", structured_output=False)
def echo(query: str) -> str:
    return query
server.run("stdio")
"""


async def mcp_times(calls: int) -> dict[str, list[float]]:
    """Return milliseconds of `search` and of `echo`, called alternately."""
    times: dict[str, list[float]] = {"search": [], "echo": []}
    async with Client(StdioServerParameters(command=sys.executable, args=["-c", SERVER])) as client:
        for query in QUERIES:
            await client.call_tool("search", {"query": query})
        for number in range(calls):
            arguments = {"query": QUERIES[number % len(QUERIES)]}
            for name, measured in times.items():
                start = time.perf_counter()
                await client.call_tool(name, arguments)
                measured.append((time.perf_counter() - start) * 1e3)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    mcp = asyncio.run(mcp_times(arguments.calls))
    report: dict[str, Any] = {
        "kb_search_fresh_process_s": fresh_search_s(QUERIES[0], arguments.runs),
        "mcp_ms": {
            name: {"p50": statistics.median(values), "p95": sorted(values)[int(0.95 * len(values))], "n": len(values)}
            for name, values in mcp.items()
        },
    }
    report["mcp_search_above_echo_p50_ms"] = report["mcp_ms"]["search"]["p50"] - report["mcp_ms"]["echo"]["p50"]
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
