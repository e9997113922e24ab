"""The newest cycle of a job, as ft_launcher of nvidia-resiliency-ext writes it down.

Source: fault_tolerance/cycle_info_writer.py and nvrx_interface.proto of 0.7.0. Its files are on a shared
file system that may hang whoever reads it, so that is done by a process of its own: this file, run as a
program. It therefore needs nothing but the standard library.
"""

import json
import os
import re
import stat
import sys
from typing import Any, NamedTuple

# A file is 0.6 KB, and some more for the names of many nodes.
MOST_BYTES = 64 << 10
_SAFE_JOB = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")
JOB = "{job}"


class Cycle(NamedTuple):
    """One cycle of a job."""

    number: int
    # How often the scheduler had restarted the job by then.
    attempt: int
    # As the launcher writes it, RFC 3339.
    started: str
    # Empty while it goes on.
    finished_at: str
    # Short host names, as ranges: `n[001-003]`.
    active: str
    standby: str


class CycleError(ValueError):
    """The text is no cycle of the job; its message says why."""


def cycle_of(text: str, job: str) -> Cycle:
    """The cycle in a file's text. Raises CycleError. Pure.

    A file that is being written is torn, for the launcher overwrites it.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise CycleError("it is empty or torn") from None
    if not isinstance(document, dict):
        raise CycleError("it is no JSON object")
    if document.get("job_id") != job:
        raise CycleError(f"it is of another job ({str(document.get('job_id'))[:40]!r})")
    cycle = Cycle(
        number=_number(document, "cycle_number"),
        attempt=_number(document, "attempt_index"),
        started=_text(document, "cycle_start_time"),
        finished_at=_text(document, "cycle_end_time"),
        active=_text(document, "active_nodes"),
        standby=_text(document, "standby_nodes"),
    )
    if not (cycle.started and cycle.active):
        raise CycleError("it names no start or no active nodes")
    return cycle


def _number(document: dict[str, Any], key: str) -> int:
    value = document.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise CycleError(f"its {key} is missing or no number; it may be of another version")
    return value


def _text(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str):
        raise CycleError(f"its {key} is missing or no text; it may be of another version")
    return value


def read_newest(folder: str, job: str) -> str:
    """The text of the file that `cycle_info.JOB.current` points to. Raises OSError, ValueError.

    That is a link by design, but only to a file of the job beside it: users write there, and nothing
    else is opened for them.
    """
    name = os.readlink(f"{folder}/cycle_info.{job}.current")  # noqa: PTH115 - names stay text here
    if not re.fullmatch(rf"cycle_info\.{re.escape(job)}\.\d{{1,10}}\.\d{{1,10}}", name):
        raise ValueError("cycle_info.current does not point to a cycle of the job beside it")
    # A pipe would wait for its writer.
    descriptor = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{name} is no regular file")
        data = os.read(descriptor, MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{name} has more than {MOST_BYTES} bytes")
    return data.decode("utf-8", "replace")


def main(folder: str, job: str) -> int:
    """Print the newest cycle of a job."""
    if not _SAFE_JOB.fullmatch(job):
        return 1
    try:
        sys.stdout.write(read_newest(folder.replace(JOB, job), job))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
