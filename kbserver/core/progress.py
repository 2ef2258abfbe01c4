"""Progress of long work: whoever shows it sets a sink, the work says what it does; without a sink nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Sink = Callable[[str], None]

_sink: ContextVar[Sink | None] = ContextVar("kbserver_progress", default=None)


def say(text: str) -> None:
    """Tell what the work is at, in a few words."""
    sink = _sink.get()
    if sink is not None:
        sink(text)


@contextmanager
def progress_to(sink: Sink) -> Iterator[None]:
    """Send what is said inside the `with` block to `sink`."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)
