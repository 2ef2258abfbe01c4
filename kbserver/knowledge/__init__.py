"""Knowledge: Markdown documents as sections, the map `index.yaml`, and the BM25 search index over entries.

Imports `core` only. What else is searchable (facts, kernels, lessons) arrives as entries, and references to it resolve
through an injected `Resolver`: `kbserver.ops.corpus` wires both.
"""
