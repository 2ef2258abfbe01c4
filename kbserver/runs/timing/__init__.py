"""Timing a kernel on a GPU so that the figure can be believed; `harness.py` is the way through."""
