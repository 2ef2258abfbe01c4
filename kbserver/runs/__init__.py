"""Kernel tasks: what a kernel computes, on which shapes, and its variants."""
