"""Find a compiler, build a kernel in isolation, and read what came out: assembly, resources, instruction mix."""
