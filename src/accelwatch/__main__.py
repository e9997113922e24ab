"""Where the command starts: the one-shot path without typer, everything else with it."""

import sys


def main() -> None:
    """Run the command line and end with its exit code."""
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        from accelwatch.cli.output import write_stdout
        from accelwatch.version import __version__

        write_stdout(f"accelwatch {__version__}\n".encode())
        sys.exit(0)
    from accelwatch.cli.entry import dispatch, leave

    leave(dispatch(words))


if __name__ == "__main__":
    main()
