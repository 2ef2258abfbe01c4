"""Resources and prompts over MCP: what exists is read, what leads outside is not found and not echoed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from kbserver.ops import compile_kernel, verify_kernel
from kbserver.server import KbServer

ROOT = Path(__file__).resolve().parent.parent.parent


def read(uri: str) -> str:
    async def once() -> str:
        async with Client(KbServer()) as client:
            return (await client.read_resource(uri)).contents[0].text

    return asyncio.run(once())


def test_map_document_section_lesson_and_assembly_are_readable() -> None:
    assert "LDS" in read("kb://map")
    assert "LDS" in read("kb://doc/gpu_arch/cdna4/lds.md")
    assert "160 KB" in read("kb://lesson/0001") or "160 KiB" in read("kb://lesson/0001")
    build = compile_kernel(name="step1_naive", arch="gfx942").build_id
    assert "s_endpgm" in read(f"kb://build/{build}/asm")
    run = verify_kernel(name="step2_nhwc", arch="gfx942", seeds=[1]).run_id
    assert "0 wrong" in read(f"kb://run/{run}")


@pytest.mark.parametrize(
    "ref",
    [
        "..%2F..%2Fetc%2Fpasswd",
        "..%5c..%5cetc%5cpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%252F..%252Fetc%252Fpasswd",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "gpu_arch/../pyproject.toml",
        "pyproject.toml",
        "kbserver/cli.py",
        "gpu_arch/%00",
    ],
)
def test_a_resource_outside_the_documents_is_not_found_and_not_echoed(ref: str) -> None:
    async def refused() -> str:
        async with Client(KbServer()) as client:
            try:
                await client.read_resource(f"kb://doc/{ref}")
            except MCPError as error:
                return str(error)
        return "it was read"

    message = asyncio.run(refused())
    assert message != "it was read"
    # The answer names nothing but the address that the client itself sent: no resolved path, no content.
    assert str(ROOT) not in message.replace(ref, "")
    assert "root:" not in message
    assert "hatchling" not in message


def test_prompts_name_only_tools_that_are_served() -> None:
    async def texts() -> dict[str, str]:
        async with Client(KbServer()) as client:
            served = {tool.name for tool in (await client.list_tools()).tools}
            out: dict[str, str] = {"": " ".join(served)}
            arguments: dict[str, dict[str, Any]] = {
                "optimize_kernel": {"kernel": "step3_nchw_lds"},
                "review_claims": {"text": "LDS is 64 KB"},
                "write_post_mortem": {"kernel": "step3_nchw_lds"},
            }
            for prompt in (await client.list_prompts()).prompts:
                got = await client.get_prompt(prompt.name, arguments[prompt.name])
                out[prompt.name] = got.messages[0].content.text
            return out

    found = asyncio.run(texts())
    served = set(found.pop("").split())
    assert set(found) == {"optimize_kernel", "review_claims", "write_post_mortem"}
    unserved = {"verify_kernel", "profile_kernel", "time_kernel", "check_claims", "log_experiment"} - served
    for text in found.values():
        assert not [name for name in unserved if name in text]
