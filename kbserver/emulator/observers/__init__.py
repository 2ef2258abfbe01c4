"""Observers: code that the translator adds around a kernel's instructions to count or to check."""
