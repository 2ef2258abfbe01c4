"""Text on the command line may begin with a dash: people ask about flags, and operands have signs."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from kbserver.cli import cli

COMMAND = cli.get_command(click.Context(cli), "search")


def parsed(*args: str) -> dict[str, object]:
    context = COMMAND.make_context("search", list(args))
    return {name: value for name, value in context.params.items() if value not in (None, False)}


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("-amdgpu-early-inline-all needed",), ("-amdgpu-early-inline-all needed",)),
        (("-ffast-math", "denormals"), ("-ffast-math", "denormals")),
        (("--save-temps",), ("--save-temps",)),
        (("what", "does", "--offload-arch=gfx942", "do"), ("what", "does", "--offload-arch=gfx942", "do")),
        (("--", "--json"), ("--json",)),
        (("-O3", "--", "-n"), ("-O3", "-n")),
    ],
)
def test_words_that_begin_with_a_dash_are_text(args: tuple[str, ...], text: tuple[str, ...]) -> None:
    assert parsed(*args) == {"query": text}


@pytest.mark.parametrize("args", [("lds", "-n", "3", "--arch", "MI300X"), ("-n3", "--arch=MI300X", "lds")])
def test_options_are_options_wherever_they_stand(args: tuple[str, ...]) -> None:
    assert parsed(*args) == {"query": ("lds",), "limit": 3, "arch": "MI300X"}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("lds", "--jsn"), "Did you mean '--json'"),
        (("lds", "-n"), "requires an argument"),
        (("-n", "3"), "Missing argument"),
        (("lds", "-n", "x"), "not a valid integer"),
    ],
)
def test_a_misspelt_or_incomplete_option_is_an_error(args: tuple[str, ...], says: str) -> None:
    result = CliRunner().invoke(COMMAND, list(args), obj={"json": False})
    assert result.exit_code == 2
    assert says in result.output
