"""From words to a command and an exit code; the one place where errors become messages."""

import gc
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from accelwatch.base.errors import AccelwatchError
from accelwatch.base.exit_codes import INTERRUPTED
from accelwatch.cli.arguments import normalised, parse
from accelwatch.cli.check import check_options
from accelwatch.cli.output import complain, exit_on_broken_pipe
from accelwatch.cli.startup import long_lived
from accelwatch.cli.terminal import COMPLETION, on_terminal


def dispatch(argv: list[str]) -> int:
    """Run what the words say; returns the exit code."""
    if not argv and on_terminal():
        gc.disable()  # until it is loaded
        from accelwatch.cli.startup.dashboard import run_dashboard

        return guarded(run_dashboard)
    if argv[:1] == ["check"] and (checked := check_options.parse(argv[1:])) is not None:
        gc.disable()  # as for a single reading
        from accelwatch.cli.check import check

        return guarded(lambda: check.run(checked))
    arguments = parse(argv) if _may_be_one_shot(argv) else None
    if argv[:1] != ["dashboard"] and (arguments is None or arguments.watch is not None):
        gc.enable()  # off for a single reading, and until a dashboard is loaded: sampler.early
    if arguments is None:
        if COMPLETION not in os.environ and (ready := long_lived.prepared(argv)) is not None:
            return guarded(ready)
        return guarded(lambda: _with_typer(argv))
    from accelwatch.cli.node.snapshot import run

    return guarded(lambda: run(arguments))


def leave(code: int) -> NoReturn:
    """End at once: taking the interpreter apart costs as much as reading several devices."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # None when it was closed at the start
            continue
    os._exit(code)


def _may_be_one_shot(argv: list[str]) -> bool:
    if COMPLETION in os.environ:
        return False
    return not argv or argv[0] == "snapshot" or argv[0].startswith("-")


def guarded(command: Callable[[], int]) -> int:
    """The command's exit code; errors become one message on stderr and their own code."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = command()
    except AccelwatchError as error:
        complain(str(error))
        code = error.exit_code
    except BrokenPipeError:
        exit_on_broken_pipe()
    except KeyboardInterrupt:
        code = INTERRUPTED
    return code


def _with_typer(argv: list[str]) -> int:
    from accelwatch.cli.startup.app import invoke

    return invoke(normalised(argv))
