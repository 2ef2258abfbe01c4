"""Launch a captured kernel a few times: `python -m kbserver.devices.launch_once FOLDER`, for a profiler to watch.

The launch happens in this very process, because that is the one which rocprofv3 watches. The folder is whole: what a
launch needs beyond it is this package and a GPU, so that it can be taken to another machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PLAN, IMAGE = "launch.json", "kernel.hsaco"
FORMAT = 1
LIMIT_S = 60.0


def launch_folder(folder: Path) -> int:
    """Launch what is in a folder as often as it says; returns how often. Raises SystemExit with the reason."""
    import numpy as np

    from kbserver.core.errors import KbError
    from kbserver.devices.buffers import Layout, SharedBuffer
    from kbserver.devices.gpu_api import NoDriver
    from kbserver.devices.gpu_session import Session

    plan = _plan(folder)
    try:
        session = Session("hip", 0)
        if session.api.identity.arch != plan["arch"]:
            raise SystemExit(f"the kernel is built for {plan['arch']}, the device is {session.api.identity.arch}")
        image = (folder / IMAGE).read_bytes()
        for step in plan["steps"]:
            session.load(step["slot"], image, step["slot"])
        for entry in plan["buffers"]:
            layout = Layout(entry["name"], entry["dtype"], tuple(entry["shape"]), entry["writable"])
            buffer = SharedBuffer(layout)
            buffer.array[...] = np.load(folder / entry["file"], allow_pickle=False).reshape(layout.shape)
            session.attach(layout.name, buffer)
        keys = {entry["name"]: entry["name"] for entry in plan["buffers"]}
        steps = [{**step, "buffers": keys, "state": "as it is"} for step in plan["steps"]]
        for _ in range(plan["launches"]):
            session.upload(list(keys))
            session.run(steps, spin_ms=0.0, limit_s=LIMIT_S)
    except NoDriver as error:
        raise SystemExit(f"no AMD GPU here: {error}") from None
    except KbError as error:
        raise SystemExit(error.one_line()) from None
    except OSError as error:
        raise SystemExit(f"the folder is not whole: {error}") from None
    return plan["launches"]


def _plan(folder: Path) -> dict[str, Any]:
    try:
        plan = json.loads((folder / PLAN).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"no captured launch in {folder}: {error}") from None
    if plan.get("format") != FORMAT:
        raise SystemExit(f"{folder} was captured by another version: capture it again")
    return plan


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m kbserver.devices.launch_once FOLDER")
    launch_folder(Path(sys.argv[1]))
