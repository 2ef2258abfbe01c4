"""Which file of `gpu_arch/isa/` holds an instruction: by the first words of its name."""

from __future__ import annotations

FAMILIES = ("scalar", "vector", "compare", "matrix", "lds", "global", "buffer", "image")
_PREFIXES = (
    ("v_mfma", "matrix"),
    ("v_smfmac", "matrix"),
    ("v_accvgpr", "matrix"),
    ("v_cmp", "compare"),
    ("v_", "vector"),
    ("s_", "scalar"),
    ("ds_", "lds"),
    ("flat_", "global"),
    ("global_", "global"),
    ("scratch_", "global"),
    ("buffer_", "buffer"),
    ("tbuffer_", "buffer"),
    ("image_", "image"),
)


def family_of(name: str) -> str:
    """Return the family of an instruction name. Raises ValueError for a name of no family."""
    for prefix, family in _PREFIXES:
        if name.startswith(prefix):
            return family
    raise ValueError(name)
