"""Execute gfx9 machine code (gfx90a, gfx942, gfx950) on the CPU: assembly text -> LLVM IR -> host code on real buffers.

Reading order: `operands` and `decode` (text to typed operands), `semantics` (one table row an instruction), `translate`
(rows to LLVM IR over 64 lanes), `runtime` (memory access and the grid loop, as IR), `jit`, `machine` (launch a grid);
`checks` (the same code instrumented: races, uses of what nobody wrote).

To add an instruction: one row in the table of its family under `semantics/`, keyed by the exact mnemonic, and one entry
in the oracle of the same family under `oracle/`, which is written independently and which the tests compare it with.
"""
