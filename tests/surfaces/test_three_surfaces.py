"""One operation, one typed result: Python, the command line and MCP give the same object."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import Client

from kbserver.cli import cli
from kbserver.core.errors import KbError
from kbserver.core.paths import Roots
from kbserver.ops import operations
from kbserver.render import render, render_plain
from kbserver.server import KbServer
from tests.surfaces.samples import MACHINE_DEPENDENT, RIGHT


def call_tool(name: str, arguments: dict[str, Any]) -> Any:
    async def once() -> Any:
        async with Client(KbServer()) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(once())


def run_kb(roots: Roots, words: list[str]) -> Any:
    return CliRunner().invoke(
        cli, ["--root", str(roots.content), "--workspace", str(roots.workspace), *words], catch_exceptions=True
    )


VOLATILE = {"cached", "run_id", "times", "wall_s"}
"""What differs between two equal calls: whether a build came from the cache, the id of a recorded run, and times."""


def without_volatile(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_volatile(value) for key, value in data.items() if key not in VOLATILE}
    return [without_volatile(item) for item in data] if isinstance(data, list) else data


def without_run(text: str) -> str:
    """Return a text answer without the id and the times of its run."""
    return re.sub(r"(?m)run:[0-9a-f]{12}|^time: .*$", "", text).rstrip("\n")


def test_every_operation_has_a_sample() -> None:
    assert set(RIGHT) | MACHINE_DEPENDENT == set(operations())


@pytest.mark.parametrize("name", RIGHT)
def test_python_command_line_and_mcp_agree(name: str, roots: Roots) -> None:
    arguments, words = RIGHT[name]
    result = operations()[name].call(arguments)
    expected = without_volatile(result.to_json())

    printed = run_kb(roots, [*words, "--json"])
    assert without_volatile(json.loads(printed.stdout)) == expected

    answer = call_tool(name, arguments)
    assert not answer.is_error
    assert without_volatile(answer.structured_content) == expected

    again = operations()[name].call(arguments)
    text = render_plain(render(again))
    assert without_run(run_kb(roots, words).stdout) == without_run(text)
    assert without_run(call_tool(name, arguments).content[0].text) == without_run(text)


@pytest.mark.parametrize("name", RIGHT)
def test_text_answers_stay_short(name: str) -> None:
    text = render_plain(render(operations()[name].call(RIGHT[name][0])))
    # About four characters a token: a model should get its answer in well under two thousand tokens.
    assert len(text) < 8000
    assert "\x1b" not in text


def test_an_error_is_the_same_on_all_surfaces(roots: Roots) -> None:
    arguments = {"query": "lds", "arch": "gfx951"}
    with pytest.raises(KbError) as caught:
        operations()["hardware_fact"].call(arguments)
    expected = caught.value.payload()
    assert expected["error"]["code"] == "unknown_name"
    assert "gfx950" in expected["error"]["hint"]

    answer = call_tool("hardware_fact", arguments)
    assert answer.is_error
    assert answer.structured_content == expected
    assert answer.content[0].text == caught.value.one_line()


def test_every_tool_publishes_titles_schemas_and_hints() -> None:
    async def tools() -> Any:
        async with Client(KbServer()) as client:
            return (await client.list_tools()).tools

    listed = {tool.name: tool for tool in asyncio.run(tools())}
    assert set(listed) == set(operations())
    for name, tool in listed.items():
        assert tool.title
        assert tool.description and len(tool.description) <= 600
        assert tool.output_schema and tool.output_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        for argument, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{name}.{argument} has no description"
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is operations()[name].read_only
        assert None not in (tool.annotations.destructive_hint, tool.annotations.idempotent_hint)


def test_toolsets_serve_a_subset() -> None:
    async def names() -> set[str]:
        async with Client(KbServer(("hardware",))) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert asyncio.run(names()) == {"hardware_fact", "device_info", "occupancy"}
