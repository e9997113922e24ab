"""Where the command starts: the one-shot path without typer, everything else with it."""

import sys


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = sys.argv[1:] if argv is None else argv
    if words in (["--version"], ["-V"]):
        from accelwatch.cli.output import write_stdout
        from accelwatch.version import __version__

        write_stdout(f"accelwatch {__version__}\n".encode())
        return 0
    from accelwatch.cli.entry import dispatch

    return dispatch(words)


if __name__ == "__main__":
    sys.exit(main())
