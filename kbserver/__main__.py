"""`python -m kbserver` is the `kb` command."""

from kbserver.cli import main

main()
