"""Shared buffers: both sides see the same bytes, guard zones notice stray writes, read-only is read-only."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from kbserver.devices.buffers import GUARD_BYTES, Layout, SharedBuffer

LAYOUT = Layout("output", "uint16", (3, 5), writable=True)


def test_two_mappings_of_one_buffer_share_their_bytes() -> None:
    ours = SharedBuffer(LAYOUT)
    theirs = SharedBuffer(LAYOUT, os.dup(ours.fd))
    theirs.array[2, 4] = 77
    assert ours.array[2, 4] == 77 and ours.array.shape == (3, 5)
    assert ours.guards_changed() == 0
    theirs.close()
    ours.close()


def test_a_write_just_outside_the_data_shows_in_the_guard_zones() -> None:
    buffer = SharedBuffer(LAYOUT)
    buffer.whole[GUARD_BYTES - 1] = 0
    buffer.whole[GUARD_BYTES + LAYOUT.data_bytes] = 0
    assert buffer.guards_changed() == 2
    buffer.close()


def test_a_read_only_mapping_cannot_be_written() -> None:
    buffer = SharedBuffer(LAYOUT)
    view = SharedBuffer(LAYOUT, os.dup(buffer.fd), read_only=True)
    assert not view.array.flags.writeable
    view.close()
    buffer.close()


def test_a_read_only_mapping_ends_the_process_that_forces_a_write() -> None:
    code = (
        "import ctypes, os\n"
        "from kbserver.devices.buffers import Layout, SharedBuffer\n"
        "layout = Layout('x', 'uint16', (8,), True)\n"
        "own = SharedBuffer(layout)\n"
        "view = SharedBuffer(layout, os.dup(own.fd), read_only=True)\n"
        "ctypes.memset(view.array.ctypes.data, 1, 2)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -11


def test_sizes_are_whole_pages_with_a_page_on_both_sides() -> None:
    assert LAYOUT.data_bytes == 30 and LAYOUT.map_bytes == 3 * 4096
    assert Layout("x", "float32", (1024,), True).map_bytes == 3 * 4096
    assert np.dtype(LAYOUT.dtype).itemsize == 2
