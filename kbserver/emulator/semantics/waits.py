"""Instructions that change no value: waits, scheduling hints and cache control.

Results here never depend on them, because memory instructions complete at once; a check of their own looks at whether
a kernel waits for what it reads.
"""

from __future__ import annotations

from kbserver.emulator.decode import Decoded
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.translate import Translation


def _nothing(t: Translation, d: Decoded) -> None:
    del t, d


_ANY = Special(_nothing)
_WAIT = Special(_nothing, frozenset({"vmcnt", "lgkmcnt", "expcnt"}))
_CACHE = Special(_nothing, frozenset({"sc0", "sc1", "nt", "glc", "slc"}))

ROWS: dict[str, Row] = {
    "s_waitcnt": _WAIT,
    **dict.fromkeys(
        (
            "s_nop", "s_sleep", "s_setprio", "s_sethalt", "s_icache_inv", "s_dcache_inv", "s_dcache_wb",
            "s_dcache_inv_vol", "s_dcache_wb_vol", "s_ttracedata", "s_incperflevel", "s_decperflevel", "v_nop",
        ),
        _ANY,
    ),
    **dict.fromkeys(("buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_wbl2", "buffer_invl2", "buffer_inv"), _CACHE),
}  # fmt: skip
