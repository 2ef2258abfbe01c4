"""Measuring a kernel with rocprofv3: `run.measure(...)` captures a launch, writes the command lines, runs them."""
