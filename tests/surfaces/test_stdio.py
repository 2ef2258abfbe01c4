"""`kb serve` over real pipes: stdout carries JSON-RPC and nothing else, whatever the locale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from kbserver.core.paths import Roots


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def session(roots: Roots, messages: list[dict[str, Any]], **environment: str) -> tuple[list[dict[str, Any]], str]:
    """Run one whole session and return every stdout line parsed, and stderr."""
    child = subprocess.Popen(
        [sys.executable, "-m", "kbserver", "--workspace", str(roots.workspace), "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=roots.content,
        env={**os.environ, **environment},
    )
    assert child.stdin and child.stdout and child.stderr
    replies = []
    opening = request(
        0,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "tests", "version": "0"},
    )
    try:
        for message in [opening, {"jsonrpc": "2.0", "method": "notifications/initialized"}, *messages]:
            child.stdin.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
            child.stdin.flush()
            if "id" in message:
                # Notifications may come first; every line must be JSON-RPC all the same.
                while True:
                    reply = json.loads(child.stdout.readline())
                    assert reply["jsonrpc"] == "2.0"
                    replies.append(reply)
                    if reply.get("id") == message["id"]:
                        break
        child.stdin.close()
        for line in child.stdout:
            replies.append(json.loads(line))
        child.wait(timeout=30)
        return replies, child.stderr.read().decode()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()


def test_a_whole_session_writes_only_json_rpc(roots: Roots) -> None:
    replies, _ = session(
        roots,
        [
            request(1, "tools/list"),
            request(2, "tools/call", name="search", arguments={"query": "LDS banks"}),
            request(3, "tools/call", name="compile_kernel", arguments={"source": "#error no", "arch": "gfx950"}),
            request(4, "tools/call", name="device_info", arguments={}),
            request(5, "resources/templates/list"),
            request(6, "prompts/list"),
            request(7, "resources/read", uri="kb://map"),
        ],
    )
    by_id = {reply["id"]: reply for reply in replies if "id" in reply}
    assert set(by_id) == set(range(8))
    assert {tool["name"] for tool in by_id[1]["result"]["tools"]} >= {"search", "compile_kernel", "record_lesson"}
    assert by_id[3]["result"]["isError"] is True


def test_other_scripts_pass_under_a_narrow_code_page(roots: Roots) -> None:
    replies, _ = session(
        roots,
        [
            request(1, "tools/call", name="search", arguments={"query": "тест ✓ 検索"}),
            request(
                2,
                "tools/call",
                name="record_lesson",
                arguments={"action": "add", "title": "Урок ✓ 学び", "body": "Тело урока: 160 KiB ✓"},
            ),
            request(3, "tools/call", name="record_lesson", arguments={"action": "list"}),
        ],
        PYTHONIOENCODING="cp1252",
        LC_ALL="C",
    )
    by_id = {reply["id"]: reply for reply in replies if "id" in reply}
    assert "error" not in by_id[1]
    assert by_id[2]["result"]["isError"] is False
    assert "Урок ✓ 学び" in json.dumps(by_id[3], ensure_ascii=False)
