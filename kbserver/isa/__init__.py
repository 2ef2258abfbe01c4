"""The instruction tables: generated from LLVM's assembler and disassembler, looked up by name."""
