"""Checks that do not wait for a wrong result: races, and the use of what nobody wrote.

The kernel is translated as ever, then its LLVM IR is instrumented (`instrument`): every value carries a mask of the
bits that depend on memory nobody wrote (registers, LDS and private memory when a workgroup starts), and every access
to LDS and global memory goes to a trace. `run` executes this code over all workgroups of a small grid or a sample of a
large one; `races` looks for unordered accesses in the trace; `origins` runs a workgroup again to say where an
undefined value came from. `report` has the words. Start reading at `run`.

What counts as a use: a store to global memory, an address, a branch, EXEC. Moving an undefined value, keeping it in a
lane that is masked off, packing and never reading it are no uses, so compilers' output is clean.

Limits.
- Global memory counts as written: reading an output before writing it is found by comparing results only.
- A carry out of undefined bits is not followed, nor the choice of a lane by an undefined index, nor what an LLVM
  operation gives that the instrumentation does not know: a use may go unseen, none is invented.
- `0 * x`, `x - x`, `x ^ x` with an undefined x are undefined, whatever x would be; so is a mask by `or` in a vector.
- A race is one of the executed path and wavefronts: a branch that these inputs do not take is not checked.
- Two lanes of one wavefront are not compared. Barriers are taken as they stand: that a wavefront waits for its own
  access before its barrier is what the wait check looks at.
- Between workgroups a common atomic variable orders, whatever its scope and the fences around it.
- On a sample, workgroups outside it are not seen, in global memory neither.
"""
