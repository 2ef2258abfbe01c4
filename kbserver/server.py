"""The MCP server: every operation of the registry as a tool, documents, lessons and builds as resources, prompts.

Arguments are validated by the registry, as on the command line, so that all surfaces refuse the same things in the
same words; the SDK publishes the schemas and speaks the protocol. Nothing here writes to stdout: the SDK owns it.
"""

from __future__ import annotations

import functools
import inspect
import ipaddress
import logging
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from kbserver import __version__
from kbserver.core.errors import InternalError, KbError, UnknownName, UsageError
from kbserver.ops import Operation, operations
from kbserver.prompts import add_prompts
from kbserver.render import render, render_plain
from kbserver.resources import add_resources

logger = logging.getLogger(__name__)

INSTRUCTIONS = (
    "Hardware ground truth for AMD Instinct kernels (gfx90a, gfx942, gfx950). Ask before you state a hardware number, "
    "an instruction name or an occupancy: `search` and `hardware_fact` answer with sources, `compile_kernel` runs a "
    "real compiler. Start with `knowledge_map`, read down with `read`. Unknown is an answer; never replace it by a "
    "guess. Record what you learned with `record_lesson`, with evidence."
)


class KbServer(MCPServer):
    """The SDK's server with calls routed through the operations registry."""

    def __init__(self, toolsets: Sequence[str] = ()) -> None:
        self._served = _select(toolsets)
        super().__init__(
            name="kbserver",
            title="kbserver: AMD Instinct ground truth",
            version=__version__,
            instructions=INSTRUCTIONS,
            tools=[_tool_of(op) for op in self._served.values()],
            log_level="WARNING",
        )
        add_resources(self)
        add_prompts(self, self._served)

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> CallToolResult:
        """Run the operation in a worker thread; a KbError becomes an error result that a model can react to."""
        op = self._served.get(name)
        if op is None:
            raise ToolError(UnknownName("tool", name, self._served).one_line())
        return await anyio.to_thread.run_sync(functools.partial(_answer, op, arguments), abandon_on_cancel=True)


def _answer(op: Operation, arguments: dict[str, Any]) -> CallToolResult:
    try:
        result = op.call(arguments)
        text = render_plain(render(result))
    except KbError as error:
        return _error_result(error)
    except Exception as error:
        logger.exception("operation %s failed", op.name)
        return _error_result(InternalError.of(error, "this is a fault of kbserver: report it; other calls still work"))
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=result.to_json(), is_error=False
    )


def _error_result(error: KbError) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=error.one_line())], structured_content=error.payload(), is_error=True
    )


def _select(toolsets: Sequence[str]) -> dict[str, Operation]:
    known = {op.toolset for op in operations().values()}
    for name in toolsets:
        if name not in known:
            raise UnknownName("toolset", name, known)
    return {name: op for name, op in operations().items() if not toolsets or op.toolset in toolsets}


def _tool_of(op: Operation) -> Tool:
    """Publish an operation: its signature becomes the input schema, its result type the output schema."""

    def published(**arguments: Any) -> Any:
        return op.call(arguments)

    published.__name__ = op.name
    published.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                p.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=p.default,
                annotation=Annotated[_published_type(p.type, p.arg.choices), Field(description=p.arg.help)],
            )
            for p in op.parameters
        ],
        return_annotation=op.result,
    )
    tool = Tool.from_function(
        published,
        name=op.name,
        title=op.title,
        description=op.description,
        annotations=ToolAnnotations(
            title=op.title,
            read_only_hint=op.read_only,
            destructive_hint=op.destructive,
            idempotent_hint=op.idempotent,
            open_world_hint=op.open_world,
        ),
        structured_output=True,
    )
    # The registry refuses unknown arguments, so the schema says so before a client sends one.
    return tool.model_copy(update={"parameters": {**tool.parameters, "additionalProperties": False}})


def _published_type(kind: Any, choices: tuple[str, ...]) -> Any:
    if not choices:
        return kind
    literal = Literal[choices]  # type: ignore[valid-type]
    return literal | None if kind == (str | None) else literal


def serve_stdio(toolsets: Sequence[str] = ()) -> None:
    """Serve one client over standard input and output until it hangs up."""
    KbServer(toolsets).run("stdio")


def serve_http(host: str, port: int, toolsets: Sequence[str] = ()) -> None:
    """Serve streamable HTTP at `/mcp`. Raises UsageError for an address other than loopback.

    Tools read files that their caller names, with this process's rights: an open port would lend them to anyone.
    """
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise UsageError(
            f"{host} is not a loopback address",
            where="--host",
            hint="serve on 127.0.0.1 and reach it through an SSH tunnel (ssh -L)",
        )
    logger.warning("serving MCP at http://%s:%d/mcp", host, port)
    KbServer(toolsets).run("streamable-http", host=host, port=port)
