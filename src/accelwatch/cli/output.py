"""Where data goes: stdout without a traceback on a closed pipe, or a file replaced in one step."""

import os
import stat
import sys
from pathlib import Path

from accelwatch.base.errors import AccelwatchError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself is not imported here
    from typing import TextIO

# Permissions of a file that only its owner may read.
OWN = 0o600


def opened_stdout() -> "TextIO":
    """Standard output. Raises AccelwatchError when our parent has closed it."""
    if sys.stdout is None:
        raise AccelwatchError("cannot write to stdout: it is closed")
    return sys.stdout


def write_stdout(data: bytes) -> None:
    """Data to stdout, flushed. A closed pipe ends the program quietly, as other tools do."""
    stdout = opened_stdout()
    try:
        stdout.flush()
        stdout.buffer.write(data)
        stdout.buffer.flush()
    except BrokenPipeError:
        exit_on_broken_pipe()
    except OSError as error:
        raise AccelwatchError(f"cannot write to stdout: {error.strerror}") from error


def exit_on_broken_pipe() -> None:
    """End without Python's complaint about the closed pipe; 141 is a shell's code for SIGPIPE."""
    os._exit(141)


def file_mode(text: str) -> int:
    """Permissions of an octal number such as `0644`. Raises UsageError."""
    if not text.isascii() or not text.isdecimal() or len(text) > 4 or set(text) & {"8", "9"}:
        raise UsageError(f"--mode is an octal number such as 0644, not {text!r}")
    mode = int(text, 8)
    if mode & ~0o777 or not mode & stat.S_IRUSR or not mode & stat.S_IWUSR:
        raise UsageError(
            f"--mode is between 0600 and 0777 and its owner reads and writes, not {text}"
        )
    return mode


def output_mode(path: str, mode: str | None) -> int:
    """Permissions that the file of `--output` gets. Raises UsageError."""
    if mode is None:
        return OWN
    if path == "-":
        raise UsageError("--mode goes with --output FILE")
    return file_mode(mode)


def write_file(path: str, data: bytes, mode: int = OWN) -> None:
    """The data under that name, whole or not at all, whatever the umask. Raises AccelwatchError."""
    import tempfile

    target = Path(path)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise AccelwatchError(f"cannot write to {target.parent}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        Path(name).replace(target)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise AccelwatchError(f"cannot write {target}: {error.strerror}") from error


def emit(path: str, data: bytes, mode: int = OWN) -> None:
    """The data to a file, or to stdout when the path is `-`; a pipe or device is written into."""
    if path == "-":
        write_stdout(data)
    elif _is_special(path):
        _write_into(path, data)
    else:
        write_file(path, data, mode)


def _is_special(path: str) -> bool:
    """Whether the file must not be replaced: /dev/null, a FIFO, a terminal."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode)


def _write_into(path: str, data: bytes) -> None:
    try:
        with Path(path).open("wb") as file:
            file.write(data)
    except BrokenPipeError:
        exit_on_broken_pipe()
    except OSError as error:
        raise AccelwatchError(f"cannot write {path}: {error.strerror}") from error


def complain(message: str) -> None:
    """A message for people on stderr; names in it may be anybody's."""
    from accelwatch.base.untrusted_text import escaped

    shown = escaped(message, keep="\n")
    try:
        sys.stderr.write(f"accelwatch: {shown}\n")
        sys.stderr.flush()
    except OSError:
        return
