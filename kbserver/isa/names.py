"""Mnemonics and the suffixes that choose their encoding."""

from __future__ import annotations

SUFFIXES = ("_e32", "_e64", "_dpp", "_sdwa")


def base_name(mnemonic: str) -> str:
    """Return a mnemonic without the suffix that chooses its encoding."""
    for suffix in SUFFIXES:
        if mnemonic.endswith(suffix):
            return mnemonic.removesuffix(suffix)
    return mnemonic
