"""From words to a command and an exit code; the one module where errors become messages."""

import gc
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from accelwatch.base.errors import AccelwatchError
from accelwatch.base.exit_codes import INTERRUPTED
from accelwatch.cli.output import complain, exit_on_broken_pipe
from accelwatch.cli.startup.commands import Collector
from accelwatch.cli.startup.routing import early_collector
from accelwatch.cli.terminal import COMPLETION


def dispatch(argv: list[str]) -> int:
    """Run what the words say; returns the exit code."""
    # Off since the fork, for a single reading and until a dashboard is loaded: `sampler.early`.
    if early_collector(argv) is Collector.ONE_READING:
        # Before ^C is an exception, which could rise anywhere in it.
        import accelwatch.cli.node.snapshot  # noqa: F401
    elif argv[:1] != ["dashboard"]:
        gc.enable()
    instruction = os.environ.pop(COMPLETION, "")
    return guarded(lambda: _answer_shell(instruction) if instruction else _invoke(argv))


def leave(code: int) -> NoReturn:
    """End at once: shutting the interpreter down costs as much as reading several devices."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # None when it was closed at the start
            continue
    os._exit(code)


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


def _invoke(argv: list[str]) -> int:
    from accelwatch.cli.startup.app import invoke

    return invoke(argv)


def _answer_shell(instruction: str) -> int:
    from accelwatch.cli.startup.app import build
    from accelwatch.cli.startup.shell_completion import answer_shell

    return answer_shell(build(), instruction)
