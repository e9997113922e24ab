"""Where data goes: stdout without a traceback on a closed pipe, or a file replaced in one step."""

import os
import sys
from pathlib import Path

from accelwatch.errors import AccelwatchError


def write_stdout(data: bytes) -> None:
    """Data to stdout, flushed. A closed pipe ends the program quietly, as other tools do."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        quiet_exit()
    except OSError as error:
        raise AccelwatchError(f"cannot write to stdout: {error.strerror}") from error


def quiet_exit() -> None:
    """End without Python's complaint about the closed pipe; 141 is a shell's code for SIGPIPE."""
    os._exit(141)


def write_file(path: str, data: bytes) -> None:
    """The data under that name, whole or not at all, mode 0600. Raises AccelwatchError."""
    import tempfile

    target = Path(path)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise AccelwatchError(f"cannot write to {target.parent}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(target)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise AccelwatchError(f"cannot write {target}: {error.strerror}") from error


def emit(path: str, data: bytes) -> None:
    """The data to a file, or to stdout when the path is `-`."""
    if path == "-":
        write_stdout(data)
    else:
        write_file(path, data)


def complain(message: str) -> None:
    """One line for people on stderr."""
    try:
        sys.stderr.write(f"accelwatch: {message}\n")
        sys.stderr.flush()
    except OSError:
        return
