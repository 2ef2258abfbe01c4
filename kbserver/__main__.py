"""The `kb` program, also as `python -m kbserver`: prepares the process, then hands over to the commands."""

import os


def main() -> None:
    """Run the command line and exit with its status."""
    # pydantic reads the metadata of every installed package to find plugins: a tenth of a search, and none is of use.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from kbserver.cli import main as run

    run()


if __name__ == "__main__":
    main()
