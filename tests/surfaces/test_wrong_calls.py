"""An agent will call every tool wrongly: each wrong call gets an error that says what to do, and nothing breaks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client

from kbserver.core.errors import KbError
from kbserver.ops import operations
from kbserver.server import KbServer
from tests.surfaces.samples import HOSTILE_VALUES, RIGHT

CASES = [(op.name, p.name) for op in operations().values() for p in op.parameters]


@pytest.mark.parametrize(("name", "argument"), CASES, ids=[f"{n}-{a}" for n, a in CASES])
def test_hostile_values_give_an_answer_or_an_error_of_ours(name: str, argument: str) -> None:
    base = dict(RIGHT.get(name, ({}, []))[0])
    if name == "compile_kernel" and argument != "name":
        base["arch"] = "gfx942"
    for value in HOSTILE_VALUES:
        try:
            operations()[name].call({**base, argument: value})
        except KbError as error:
            assert error.message
            assert len(error.one_line()) < 4000


def test_all_wrong_calls_leave_the_server_answering() -> None:
    async def session() -> None:
        async with Client(KbServer()) as client:
            for name in operations():
                for arguments in ({"nonsense": 1}, {"query": None}, {"arch": 7, "ref": [1]}):
                    answer = await client.call_tool(name, arguments)
                    assert answer.is_error
                    error: dict[str, Any] = answer.structured_content["error"]
                    assert error["code"] == "usage"
                    assert "needs" in error["message"] or "no argument" in error["message"] or ":" in error["message"]
            answer = await client.call_tool("zzzz", {})
            assert answer.is_error
            assert "knowledge_map" in answer.content[0].text
            answer = await client.call_tool("hardware_fact", {"query": "lds", "arch": "gfx950"})
            assert not answer.is_error

    asyncio.run(session())


def test_a_list_sent_as_a_json_string_is_taken_as_the_list() -> None:
    direct = operations()["compile_kernel"].call({"name": "step1_naive", "arch": "gfx942", "flags": ["-O2"]})
    quoted = operations()["compile_kernel"].call({"name": "step1_naive", "arch": "gfx942", "flags": '["-O2"]'})
    assert direct.build_id == quoted.build_id
