"""What a hardware number can be about: words, dimension, and the facts that decide it. Rows of data, no code.

`per` maps the part that a number is said to be of ("CU", "XCD", "" when none is named) to fact keys; a number that is
the value of any of them is right. A part that is not listed makes no claim.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_USE = (
    r"\b(?:us(?:e|es|ed|ing|age)|tak(?:e|es|en|ing)|took|allocat\w*|need\w*|requir\w*|tiles?|buffers?|kernels?|footprint|compil\w*|"
    r"stag(?:e|es|ed|ing)|drop\w*|reserv\w*|consum\w*|occup(?:y|ies|ied)|static\w*|dynamic\w*|declar\w*|rounded?|"
    r"first|last|half|quarter|read|reads|written|writes?|loads?|moves?|moved|stride\w*|offsets?|address\w*|plus|"
    r"allows?|permits?|fits?|gives?|left|free|remain\w*|leaves?|spare|array\w*|per block|a block|each block|"
    r"beyond|opt-in|carve\w*|window|reduc\w*|shr[iu]nk\w*|lower\w*|rais\w*|keep\w*|kept|increas\w*|"
    r"(?:kb|kib|bytes) (?:in|into|from) (?:the )?(?:lds|shared|local)|(?:two|three|four|\d+) (?:workgroups|blocks))\b"
)
_ACHIEVED = (
    r"\b(?:achiev\w*|reach\w*|measured|sustain\w*|got|gets|getting|attain\w*|observed|effective\w*|delivers?|hits?|runs?|"
    r"utili[sz]\w*|copy|stream|triad|saturat\w*|kernel|gemm|moves?|pulls?|percent of|% of|realistic\w*|practical\w*|"
    r"achievable|roofline of|babel\w*|benchmark\w*|in practice|per die|per stack|half|link\w*|xgmi|pcie|"
    r"infinity fabric)\b"
)
_MOST = (
    r"\b(?:max(?:imum)?|most|up to|limit\w*|cap|capped|caps|slots?|holds?|can have|ceiling|full occupancy|possible)\b"
)


@dataclass(frozen=True)
class Subject:
    """One thing that has a number. `phrases` name it ("" units are their own name), `unit_names_it` for counts.

    A claim needs `cue` in its sentence when given, and none of `anti`. Values outside `low`..`high` are about something
    else. `vague` subjects also need a target, a part or a verb that states a property near the number.
    """

    name: str
    dim: str
    per: dict[str, tuple[str, ...]]
    phrases: tuple[str, ...] = ()
    unit_names_it: bool = False
    cue: re.Pattern[str] | None = None
    anti: re.Pattern[str] | None = None
    low: float = 0.0
    high: float = float("inf")
    vague: bool = False
    bare: bool = False
    """Its number is often written without a unit ("wavefront size 64"), after a phrase of two words or in a table."""


def _re(text: str | None) -> re.Pattern[str] | None:
    return re.compile(text) if text else None


_KIB, _MIB, _GIB = 1024.0, 1024.0**2, 1024.0**3
_L2_ANY = ("caches.l2_bytes_per_xcd", "caches.l2_bytes_per_gcd", "caches.l2_total_bytes")

SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "LDS size",
        "B",
        {"": ("lds.bytes_per_cu",), "CU": ("lds.bytes_per_cu",), "workgroup": ("lds.bytes_per_workgroup",)},
        ("lds", "local data share", "shared memory", "smem", "lds size", "lds capacity", "lds limit"),
        anti=_re(_USE),
        low=8 * _KIB,
        high=_MIB,
        vague=True,
    ),
    Subject(
        "LDS allocation granule",
        "B",
        {"": ("lds.allocation_granule_bytes",), "CU": ("lds.allocation_granule_bytes",)},
        ("lds allocation granule", "lds granule", "lds granularity", "lds allocation granularity", "granule"),
        cue=_re(r"\blds\b"),
        low=64,
        high=8 * _KIB,
    ),
    Subject(
        "LDS banks",
        "bank",
        {"": ("lds.banks",), "CU": ("lds.banks",)},
        ("lds banks", "banks", "bank count"),
        True,
        cue=_re(r"\b(?:lds|local data share|shared memory)\b"),
        anti=_re(
            r"\b(?:mod(?:ulo)?|pad\w*|stride\w*|conflict\w*|hit|hits|per cycle|groups? of|half|channel\w*|l2|"
            r"hbm|registers?|cuda|nvidia|generic|cycle model)\b"
        ),
        low=4,
        high=512,
    ),
    Subject(
        "LDS read bandwidth",
        "B/clk",
        {"": ("lds.read_bytes_per_clock",), "CU": ("lds.read_bytes_per_clock",)},
        ("lds bandwidth", "lds read bandwidth", "lds throughput", "lds peak bandwidth"),
        low=8,
        high=4096,
    ),
    Subject(
        "LDS bandwidth of the device",
        "B/s",
        {"": ("peak.lds_read_bandwidth",), "device": ("peak.lds_read_bandwidth",)},
        ("lds bandwidth", "aggregate lds bandwidth", "lds read bandwidth", "lds peak bandwidth"),
        anti=_re(_ACHIEVED),
        low=1e12,
    ),
    Subject(
        "physical compute units",
        "CU",
        {"XCD": ("compute.physical_cus_per_xcd",)},
        ("physical cus", "physical compute units"),
        True,
        cue=_re(r"\b(?:physical\w*|in silicon|on die)\b"),
        anti=_re(r"\b(?:but|only the|logical)\b"),
        low=8,
        high=128,
    ),
    Subject(
        "compute units",
        "CU",
        {
            "": ("compute.cus", "compute.cus_per_gcd"),
            "device": ("compute.cus",),
            "XCD": ("compute.cus_per_xcd",),
            "GCD": ("compute.cus_per_gcd", "compute.cus_per_xcd"),
        },
        ("cus", "compute units", "cu count"),
        True,
        anti=_re(
            r"\b(?:cpx|dpx|qpx|partition\w*|physical\w*|busy|idle|given|leaves?|left|reserv\w*|mask\w*|"
            r"over|across|disabled|yield|harvest\w*|grid\w*|share[sd]?|pairs?|first|next|bound|half|used?|using|"
            r"occup\w*|of the|of which|of them|remaining|out of|all|spread|die has|physically|persistent|"
            r"workgroups?|tiles?|in silicon|on die|fused|full|"
            r"(?:\d+|two|four) (?:are |of (?:them|these) )?(?:are )?(?:active|enabled|disabled|usable)(?! c))\b"
        ),
        low=8,
        high=2048,
        vague=True,
    ),
    Subject(
        "XCDs",
        "XCD",
        {"": ("compute.xcds",), "device": ("compute.xcds",)},
        ("xcds", "xcd count"),
        True,
        anti=_re(
            r"\b(?:cpx|dpx|qpx|partition\w*|across|other|different|mod|over|seven|per iod|each iod|an iod|"
            r"all|swizzl\w*|remap\w*|round)\b"
        ),
        low=2,
        high=64,
        vague=True,
    ),
    Subject(
        "waves per SIMD at most",
        "wave",
        {"SIMD": ("execution.max_waves_per_simd",)},
        ("max waves per simd", "maximum waves per simd"),
        True,
        cue=_re(_MOST),
        anti=_re(
            r"\b(?:vgprs?|agprs?|registers?|sgprs?|lds|kernel|with|remark|needs?|because|limiter|gives?|at \d+|"
            r"occupancy|limited to|in this case)\b"
        ),
        low=2,
        high=64,
    ),
    Subject(
        "waves per CU at most",
        "wave",
        {"CU": ("execution.max_waves_per_cu",)},
        ("waves per cu cap", "max waves per cu", "maximum waves per cu", "waves per cu", "wave slots per cu"),
        True,
        cue=_re(_MOST),
        anti=_re(r"\b(?:vgprs?|agprs?|registers?|sgprs?|lds bytes|kernel|with|needs?|because)\b"),
        low=4,
        high=256,
    ),
    Subject(
        "wavefront size",
        "thread",
        {"": ("execution.wavefront_size",), "wave": ("execution.wavefront_size",)},
        ("wavefront size", "wave size", "warp size", "warpsize", "wavefront", "wavefronts", "a wave", "a warp"),
        anti=_re(
            r"\b(?:active|idle|half|width|mask\w*|of the|of a|of each|emulat\w*|lane \d|lanes? \d|groups?|reads?|only|"
            r"hard|dpp|nvidia|cuda|row|rows|quad|first|upper|lower|phases?|simd|cycles?|clocks?|at a time|blocks?|"
            r"workgroups?)\b|\( warp \)"
        ),
        low=8,
        high=256,
        vague=True,
        bare=True,
    ),
    Subject(
        "vector L1 cache",
        "B",
        {"": ("caches.l1_vector_bytes",), "CU": ("caches.l1_vector_bytes",)},
        (
            "l1",
            "l1 cache",
            "l1 vector cache",
            "vector l1",
            "vector l1 cache",
            "vl1d",
            "l1 data cache",
            "l1 size",
            "vector l1d",
            "tcp",
        ),
        anti=_re(_USE + r"|\b(?:instruction|scalar|line|lines|hit)\b"),
        low=2 * _KIB,
        high=_MIB,
        vague=True,
    ),
    Subject(
        "instruction cache",
        "B",
        {"": ("caches.l1_instruction_bytes",)},
        ("instruction cache", "l1 instruction cache", "icache", "l1i"),
        anti=_re(_USE),
        low=2 * _KIB,
        high=_MIB,
        vague=True,
    ),
    Subject(
        "scalar cache",
        "B",
        {"": ("caches.l1_scalar_bytes",)},
        ("scalar cache", "scalar l1 cache", "scalar data cache", "sl1d"),
        anti=_re(_USE),
        low=2 * _KIB,
        high=_MIB,
        vague=True,
    ),
    Subject(
        "L2 cache",
        "B",
        {
            "": _L2_ANY,
            "XCD": ("caches.l2_bytes_per_xcd",),
            "GCD": ("caches.l2_bytes_per_gcd",),
            "device": ("caches.l2_total_bytes",),
        },
        ("l2", "l2 cache", "l2 size", "l2 capacity"),
        anti=_re(_USE + r"|\b(?:line|lines|channel\w*|infinity|mall|l3|hit|miss\w*|traffic|working set|fits?)\b"),
        low=64 * _KIB,
        high=4 * _GIB,
        vague=True,
    ),
    Subject(
        "Infinity Cache",
        "B",
        {"": ("caches.infinity_cache_bytes",), "device": ("caches.infinity_cache_bytes",)},
        ("infinity cache", "mall", "l3", "l3 cache", "last level cache", "amd infinity cache"),
        anti=_re(_USE + r"|\b(?:flush\w*|more than|above|larger|exceed\w*|fits?|working set|slice\w*|l2|channel\w*)\b"),
        low=_MIB,
        high=16 * _GIB,
        vague=True,
    ),
    Subject(
        "L2 cache line",
        "B",
        {"": ("caches.l2_line_bytes",)},
        ("l2 line", "l2 cache line", "l2 cacheline", "l2 line size", "l2 cache line size"),
        low=16,
        high=1024,
        bare=True,
    ),
    Subject(
        "L1 cache line",
        "B",
        {"": ("caches.l1_vector_line_bytes",)},
        ("l1 line", "l1 cache line", "l1 line size", "vector l1 line"),
        low=16,
        high=1024,
        bare=True,
    ),
    Subject(
        "cache line",
        "B",
        {"": ("caches.l1_vector_line_bytes", "caches.l2_line_bytes")},
        ("cache line", "cacheline", "cache line size", "cacheline size", "cache lines"),
        anti=_re(r"\b(?:request\w*|fetch\w*|sector\w*|half|prefetch\w*|instruction|scalar|llc|mall|l3|infinity)\b"),
        low=16,
        high=1024,
        bare=True,
    ),
    Subject(
        "VGPRs of a lane",
        "VGPR",
        {"SIMD": ("registers.vgprs_per_simd_lane",), "lane": ("registers.vgprs_per_simd_lane",)},
        (),
        True,
        cue=_re(r"\b(?:has|have|max(?:imum)?|at most|up to|limit\w*|file|holds?|unified)\b"),
        anti=_re(
            r"\b(?:kernel|waves?|wavefronts?|occupancy|spill\w*|needs?|us(?:e|es|ed|ing)|launch|bound\w*|block)\b"
        ),
        low=300,
        high=4096,
    ),
    Subject(
        "VGPR granule",
        "VGPR",
        {"": ("registers.vgpr_granule",)},
        (
            "vgpr granule",
            "register granule",
            "vgpr allocation granularity",
            "vgpr granularity",
            "vgpr allocation granule",
        ),
        low=1,
        high=64,
        bare=True,
    ),
    Subject("SGPRs of a SIMD", "SGPR", {"SIMD": ("registers.sgprs_per_simd",)}, (), True, low=200, high=8192),
    Subject(
        "SGPRs of a wave",
        "SGPR",
        {"wave": ("registers.sgprs_addressable",)},
        (),
        True,
        cue=_re(_MOST + r"|\b(?:addressable)\b"),
        anti=_re(r"\b(?:us(?:e|es|ed|ing)|full|kernel)\b"),
        low=96,
        high=512,
    ),
    Subject(
        "HBM capacity",
        "B",
        {
            "": ("memory.vram_bytes", "memory.vram_pool_bytes"),
            "device": ("memory.vram_bytes", "memory.vram_pool_bytes"),
        },
        ("hbm", "hbm3", "hbm3e", "hbm2e", "vram", "gpu memory", "hbm capacity", "hbm memory", "memory capacity"),
        anti=_re(
            _USE + r"|\b(?:traffic|stack\w*|partition\w*|nps\d|cpx|fetch\w*|demand\w*|fine - tun\w*|train\w*|"
            r"parameters?|model|weights|cache|per second)\b"
        ),
        low=8 * _GIB,
        high=1e13,
        vague=True,
    ),
    Subject(
        "HBM bandwidth",
        "B/s",
        {"": ("memory.hbm_bandwidth",), "device": ("memory.hbm_bandwidth",)},
        (
            "hbm bandwidth",
            "memory bandwidth",
            "hbm",
            "hbm3",
            "hbm3e",
            "hbm2e",
            "hbm peak",
            "peak hbm bandwidth",
            "peak memory bandwidth",
            "dram bandwidth",
            "hbm peak bandwidth",
        ),
        anti=_re(_ACHIEVED + r"|\b(?:l2|lds|infinity cache|l1)\b"),
        low=2e11,
        high=1e14,
        vague=True,
    ),
    Subject(
        "engine clock",
        "Hz",
        {"": ("clock.max_engine_mhz",), "device": ("clock.max_engine_mhz",)},
        (
            "engine clock",
            "max engine clock",
            "peak engine clock",
            "max clock",
            "maximum clock",
            "boost clock",
            "peak clock",
            "boost",
            "maximum engine clock",
            "clock",
            "clocks",
        ),
        cue=_re(r"\b(?:max(?:imum)?|peak|boost|engine)\b"),
        anti=_re(
            r"\b(?:measured|sustain\w*|memory|hbm|fabric|timer|counter|lower|throttl\w*|throttled|observed|held)\b"
        ),
        low=5e8,
        high=5e9,
    ),
    Subject(
        "threads of a workgroup at most",
        "thread",
        {"workgroup": ("execution.max_workgroup_size",)},
        (),
        True,
        cue=_re(_MOST),
        anti=_re(r"\b(?:kernel|here|this|launch\w*|registers?|vgprs?|bounds?)\b"),
        low=128,
        high=65536,
    ),
    Subject(
        "workgroup size at most",
        "thread",
        {"": ("execution.max_workgroup_size",)},
        ("max workgroup size", "maximum workgroup size", "workgroup size limit"),
        anti=_re(r"\b(?:kernel|here|this|launch\w*|registers?|vgprs?|bounds?|flat|amdgpu\w*)\b"),
        low=64,
        high=65536,
        bare=True,
    ),
    Subject("SIMDs of a CU", "SIMD", {"CU": ("execution.simds_per_cu",)}, ("simds per cu",), True, low=1, high=64),
    Subject(
        "workgroups of a CU at most",
        "workgroup",
        {"CU": ("execution.max_workgroups_per_cu",)},
        (),
        True,
        cue=_re(r"\b(?:max(?:imum)?|hardware limit|cap|slots|ceiling)\b"),
        anti=_re(r"\b(?:lds|vgprs?|registers?|kernel|granule|with|bytes|fits?|tile|at most)\b"),
        low=2,
        high=256,
    ),
    Subject("lgkmcnt", "bit", {"": ("waits.lgkmcnt_bits",)}, ("lgkmcnt", "lgkm counter"), low=1, high=32),
    Subject("vmcnt", "bit", {"": ("waits.vmcnt_bits",)}, ("vmcnt", "vm counter"), low=1, high=32),
    Subject("expcnt", "bit", {"": ("waits.expcnt_bits",)}, ("expcnt",), low=1, high=32),
    Subject("board power", "W", {"": ("power.board_watts",)}, ("board power", "tbp", "tdp"), low=50, high=5000),
)
"""Longer phrases win over shorter ones, earlier rows over later ones."""

PARTS = {
    "cu": "CU",
    "cus": "CU",
    "compute": "CU",
    "xcd": "XCD",
    "xcds": "XCD",
    "xcc": "XCD",
    "gcd": "GCD",
    "gcds": "GCD",
    "simd": "SIMD",
    "simds": "SIMD",
    "eu": "SIMD",
    "workgroup": "workgroup",
    "workgroups": "workgroup",
    "block": "workgroup",
    "blocks": "workgroup",
    "group": "workgroup",
    "wave": "wave",
    "wavefront": "wave",
    "warp": "wave",
    "lane": "lane",
    "thread": "lane",
    "work-item": "lane",
    "device": "device",
    "gpu": "device",
    "card": "device",
    "package": "device",
    "total": "device",
    "aggregate": "device",
    "chip": "device",
    "accelerator": "device",
    "overall": "device",
    "iod": "IOD",
    "die": "die",
    "stack": "stack",
    "channel": "channel",
    "clock": "clock",
    "cycle": "clock",
    "second": "second",
    "row": "row",
    "instruction": "instruction",
    "kernel": "kernel",
}

MAY_TAKE = re.compile(r"\b(?:can|may|could) (?:\w+ )?(?:use|take|allocate|have|hold|get)\b")
"""Before an amount of LDS: what one workgroup may take, not what one takes."""
AT_MOST = re.compile(r"\b(?:up to|at most|all|only|maximum|max|no more than)\b")
"""With which "can use 48 KB" says that no more is possible; without, it only says that so much is."""
MAY_NOT_TAKE = re.compile(
    r"\b(?:cannot|can not|can ' t) (?:\w+ ){0,2}"
    r"(?:exceed|go over|go beyond|(?:use|take|allocate|have|hold|get|declare|reserve) (?:more than|over|above|beyond))$"
)
"""The same as a limit: "cannot allocate more than 48 KB" says that 48 KB is the most."""
