"""What becomes of an error that nobody has handled: kept whole in a file, shown in one line.

The file has no values of variables, only the error and the lines of code that led to it.
"""

import platform
import traceback
from collections.abc import Mapping
from pathlib import Path

from accelwatch.base.errors import AccelwatchError
from accelwatch.base.version import __version__
from accelwatch.schema.display import printable
from accelwatch.system.files.atomic_file import PRIVATE, replace_file

_NAME = "dashboard-error.txt"
# Characters of an error that the terminal shows.
_MOST_SHOWN = 200


def path_of(environ: Mapping[str, str]) -> Path:
    """Where the details of the last failure are: $XDG_STATE_HOME/accelwatch/dashboard-error.txt."""
    base = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME", "~")) / ".local/state")
    return Path(base).expanduser() / "accelwatch" / _NAME


def user_error(error: Exception, path: Path) -> AccelwatchError:
    """The error as one that ends the command with a line: our own as it is, others with a file."""
    if isinstance(error, AccelwatchError):
        return error
    text = " ".join(printable(f"{type(error).__name__}: {error}").split())
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    try:
        _write_details(error, path)
    except OSError as fault:
        where = f"its details cannot be written to {path}: {fault.strerror}"
    else:
        where = f"its details are in {path}; please send them with a report"
    return AccelwatchError(f"the dashboard has failed, which is a defect: {shown}; {where}")


def _write_details(error: Exception, path: Path) -> None:
    """Write the details, readable by their owner, over those before. Raises OSError."""
    head = f"accelwatch {__version__}, Python {platform.python_version()}\n\n"
    details = "".join([head, *traceback.format_exception(error)])
    replace_file(path, details.encode("utf-8", "replace"), mode=PRIVATE, durable=False)
