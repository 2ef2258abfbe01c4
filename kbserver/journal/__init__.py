"""Lessons: what was believed about a kernel or a chip, what was found, and the evidence that decides between them."""
