"""Where the command starts: a collector is forked at once, then the words are parsed.

Nothing is opened before the standard files, which the starter may have closed, lead somewhere.
"""

import os
import signal
import sys


def main() -> None:
    """Run the command line and end with its exit code.

    ^C ends it as the system does, without a word, until a command runs (`entry.guarded`): an
    exception could rise anywhere while modules are loaded, and some of msgspec's types do not survive
    that.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from accelwatch.cli.startup.commands import Collector
    from accelwatch.cli.startup.routing import early_collector, with_command

    open_missing()
    argv = with_command(sys.argv[1:])
    if argv in (["--version"], ["-V"], ["version"]):
        sys.exit(_version())
    collector = early_collector(argv)
    if argv[:1] == ["agent"] and collector is Collector.LASTING:
        _prepare_agent()
    if collector is not Collector.NONE:
        from accelwatch.node.sampler import early

        early.start(lasting=collector is Collector.LASTING)
    from accelwatch.cli.startup.entry import dispatch, leave

    leave(dispatch(argv))


def _prepare_agent() -> None:
    """What holds for both of its processes, which share the memory of what is loaded here."""
    from accelwatch.node.sampler import early
    from accelwatch.system.daemon.memory import use_single_arena
    from accelwatch.system.daemon.privacy import new_files_for_ourselves

    new_files_for_ourselves()
    use_single_arena()
    early.load_more_shared()


def _version() -> int:
    from accelwatch.base.errors import AccelwatchError
    from accelwatch.base.version import __version__
    from accelwatch.cli.output import complain, write_stdout

    try:
        write_stdout(f"accelwatch {__version__}\n".encode())
    except AccelwatchError as error:
        complain(str(error))
        os._exit(
            error.exit_code
        )  # Python would try the same text again, and end with a code of its own
    return 0


def open_missing() -> None:
    """Have descriptors 0 to 2 lead somewhere.

    Whatever was opened next would be one of them otherwise: a pipe between our processes, which a child
    mistakes for its own output and closes. Call it before anything is opened. Messages then go nowhere
    without a word, while `sys.stdin` and `sys.stdout` stay None: data that nobody gets is an error.
    """
    for standard in (0, 1, 2):
        try:
            os.fstat(standard)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the least that is free
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
