"""The `kb` command: every operation of the registry as a command, plus `serve`, `doctor` and `demo`.

stdout carries the answer only; errors are one line on stderr, or with `--json` an object on stdout.
Exit status: 0 yes, 1 no, 2 usage, 3 cannot tell here.
"""

from __future__ import annotations

import difflib
import json
import logging
import os
import sys
import types
import typing
from pathlib import Path
from typing import Any

import click

from kbserver import __version__
from kbserver.core.errors import InternalError, KbError, UsageError
from kbserver.core.paths import find_roots, set_process_roots
from kbserver.core.progress import progress_to
from kbserver.ops import Operation, operation_of, operations
from kbserver.ops.registry import Parameter

FILE_SUFFIXES = (
    ".hip", ".cpp", ".cc", ".cu", ".c", ".h", ".hpp", ".s", ".asm", ".amdgcn", ".co", ".hsaco", ".o", ".elf", ".txt",
    ".md", ".yaml",
)  # fmt: skip
MAX_STDIN_BYTES = 4 << 20


class _Commands(click.Group):
    """Commands of the registry beside those written by hand, listed in the order of registration."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [op.command for op in operations().values()] + ["demo", "doctor", "serve"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        op = operation_of(cmd_name)
        return _command_of(op) if op else super().get_command(ctx, cmd_name)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--root", metavar="DIR", help="Content root: the folder with index.yaml.")
@click.option("--workspace", metavar="DIR", help="Where lessons, builds and caches are written.")
@click.option("--json", "as_json", is_flag=True, help="Print the typed result as JSON.")
@click.version_option(__version__, prog_name="kb")
@click.pass_context
def cli(ctx: click.Context, root: str | None, workspace: str | None, as_json: bool) -> None:
    """Hardware ground truth for AMD Instinct kernels: ask, cite, compile, record."""
    ctx.obj = {"json": as_json}
    # `serve` and `doctor` report an unusable root themselves; every other command fails here, once.
    set_process_roots(find_roots(root, workspace))


def _show_progress(text: str) -> None:
    """Show on a terminal what long work is at; a pipe gets the answer alone."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{text[:100]}", err=True, nl=False)


class _TextCommand(click.Command):
    """A command that takes free text: what begins with a dash and is no option of ours is a word of it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {name: one for one in self.get_params(ctx) if isinstance(one, click.Option) for name in one.opts}
        options, words, rest = [], [], iter(args)
        for arg in rest:
            name, equals, _ = arg.partition("=")
            option = known.get(name)
            if arg == "--":
                words += rest
            elif option is not None:
                options.append(arg)
                if not option.is_flag and not equals:
                    value = next(rest, None)
                    if value is None:
                        return super().parse_args(ctx, args)  # says that the option needs one
                    options.append(value)
            elif arg[:2] in known and arg[2:].isdigit():  # -n3
                options.append(arg)
            elif not arg.startswith("--") or " " in arg or not difflib.get_close_matches(name, known, cutoff=0.8):
                words.append(arg)
            else:
                options.append(arg)  # misspelt: click says which is near
        return super().parse_args(ctx, [*options, "--", *words] if words else options)


def _command_of(op: Operation) -> click.Command:
    params: list[click.Parameter] = [_click_parameter(p) for p in op.parameters]
    params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print the typed result as JSON."))

    def callback(as_json: bool, **values: Any) -> None:
        ctx = click.get_current_context()
        ctx.obj["json"] = as_json = as_json or ctx.obj["json"]
        with progress_to(_show_progress):
            result = op.call(_arguments(op, values))
        if as_json:
            _print_json(result.to_json())
        else:
            _print_text(result, op.area)
        ctx.exit(3 if op.cannot_tell(result) else 1 if op.says_no(result) else 0)

    kind = _TextCommand if any(parameter.arg.words for parameter in op.parameters) else click.Command
    return kind(op.command, params=params, callback=callback, help=op.description, short_help=op.title)


def _click_parameter(parameter: Parameter) -> click.Parameter:
    kind, many = _click_kind(parameter)
    arg = parameter.arg
    if arg.positional:
        return click.Argument(
            [parameter.name],
            type=kind,
            required=parameter.required,
            nargs=-1 if many or arg.words else 1,
            metavar=_metavar(parameter),
        )
    flags = list(arg.flags) or [f"--{parameter.name.replace('_', '-')}"]
    if kind is click.BOOL:
        return click.Option([*flags, parameter.name], is_flag=True, default=None, help=arg.help)
    default = "" if parameter.required or parameter.default in (None, [], {}, ()) else parameter.default
    return click.Option(
        [*flags, parameter.name],
        type=kind,
        multiple=many,
        metavar=arg.metavar,
        help=arg.help + (f" [default: {default}]" if default != "" else ""),
    )


def _metavar(parameter: Parameter) -> str:
    name = parameter.arg.metavar or parameter.name.upper()
    if parameter.arg.file_argument:
        name += "|FILE"
    return name if parameter.required else f"[{name}]"


def _click_kind(parameter: Parameter) -> tuple[click.ParamType, bool]:
    """Return the click type of one value and whether the argument may be repeated."""
    kind = _without_none(parameter.type)
    origin = typing.get_origin(kind) or kind
    if parameter.arg.choices:
        return click.Choice(parameter.arg.choices), False
    if origin in (list, tuple, dict):
        return click.STRING, True
    simple = {int: click.INT, float: click.FLOAT, bool: click.BOOL}
    return simple.get(origin, click.STRING), False


def _without_none(kind: Any) -> Any:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        rest = [part for part in typing.get_args(kind) if part is not type(None)]
        return rest[0] if len(rest) == 1 else kind
    return kind


def _arguments(op: Operation, values: dict[str, Any]) -> dict[str, Any]:
    """Turn click's values into the operation's arguments: absent ones are left to their defaults."""
    arguments: dict[str, Any] = {}
    for parameter in op.parameters:
        value = values[parameter.name]
        kind = typing.get_origin(_without_none(parameter.type)) or _without_none(parameter.type)
        if value is None or (isinstance(value, tuple) and not value):
            continue
        if kind is dict:
            value = dict(_key_value(parameter, text) for text in value)
        elif isinstance(value, tuple):
            value = " ".join(value) if kind is str else list(value)
        arg = parameter.arg
        if value == "-" and arg.stdin_argument:
            arguments[arg.stdin_argument] = _read_stdin()
        elif arg.file_argument and isinstance(value, str) and _looks_like_file(value):
            arguments[arg.file_argument] = value
        else:
            arguments[parameter.name] = value
    return arguments


def _key_value(parameter: Parameter, text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    if not key:
        raise UsageError(f"expected KEY=VALUE, got {text[:60]!r}", where=parameter.name)
    return key, value


def _looks_like_file(value: str) -> bool:
    """Return whether a value is meant as a path; a sentence with a slash in it ("at 8 TB/s") is none."""
    try:
        if Path(value).is_file():
            return True
    except (OSError, ValueError):
        return False  # too long for a path, or with a NUL: text
    return not any(map(str.isspace, value)) and ("/" in value or value.endswith(FILE_SUFFIXES))


def _read_stdin() -> str:
    data = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    if len(data) > MAX_STDIN_BYTES:
        raise UsageError(f"standard input is larger than {MAX_STDIN_BYTES} bytes", where="-")
    return data.decode("utf-8", "replace")


def _print_json(data: Any) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _print_text(result: Any, area: str) -> None:
    from kbserver.render import render, render_plain

    document = render(result, area)
    if sys.stdout.isatty():
        from kbserver.render.document import print_rich

        print_rich(document)
    else:
        click.echo(render_plain(document))


@cli.command()
@click.option("--http", is_flag=True, help="Serve streamable HTTP instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address for --http.")
@click.option("--port", default=8742, show_default=True, help="Port for --http.")
@click.option("--toolsets", default="", help="Comma-separated subset: knowledge,hardware,compile,run,journal.")
def serve(http: bool, host: str, port: int, toolsets: str) -> None:
    """Serve the operations over MCP (stdio unless --http)."""
    from kbserver.server import serve_http, serve_stdio

    chosen = tuple(name.strip() for name in toolsets.split(",") if name.strip())
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    if http:
        serve_http(host, port, chosen)
    else:
        serve_stdio(chosen)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print the typed result as JSON.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Check content, compiler, device and client configuration; each line says ok or missing with the fix."""
    from kbserver.ops.doctor import examine

    ctx.obj["json"] = as_json = as_json or ctx.obj["json"]
    report = examine()
    if as_json:
        _print_json(report.to_json())
    else:
        _print_text(report, "doctor")
    ctx.exit(0 if report.healthy else 1)


@cli.command()
def demo() -> None:
    """Run the main job through a real MCP client session: ask, cite, compile, record, find again."""
    from kbserver.demo import run_demo

    sys.exit(run_demo())


def main(argv: list[str] | None = None) -> None:
    """Entry point of `kb`: translate errors to one line and an exit status."""
    for stream in (sys.stdout, sys.stderr):
        # A code page that cannot hold an answer must not turn it into a crash.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    argv = sys.argv[1:] if argv is None else argv
    as_json = "--json" in argv
    try:
        status = cli.main(args=argv, prog_name="kb", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except KbError as error:
        _fail(error, as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        hint = (
            "kb --help"
            if not isinstance(error, click.UsageError) or error.ctx is None
            else (f"{error.ctx.command_path} --help")
        )
        _fail(UsageError(error.format_message(), hint=hint), as_json)
    except click.Abort:
        _fail(UsageError("interrupted"), as_json)
    except BrokenPipeError:
        # The reader went away (`kb ... | head`): that is no error of ours, and nothing more can be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("KB_DEBUG"):
            raise
        _fail(InternalError.of(error, "set KB_DEBUG=1 for the traceback, and report it"), as_json)


def _fail(error: KbError, as_json: bool) -> typing.NoReturn:
    if as_json:
        _print_json(error.payload())
    else:
        click.echo(f"kb: {error.one_line()}", err=True)
    sys.exit(error.exit_status)


if __name__ == "__main__":
    main()
