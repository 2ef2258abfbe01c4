"""Hardware ground truth for people and coding agents who write AMD Instinct kernels."""

__version__ = "0.1.0"
