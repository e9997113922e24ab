"""The table of processes that nvidia-smi's relatives print below that of GPUs. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from accelwatch.backend.kit.listed_process import by_pid, listed
from accelwatch.backend.kit.text.process_rows import process_rows
from accelwatch.backend.kit.text.quantity import Units, quantity
from accelwatch.schema.reading import Process

_TITLE = re.compile(r"[\s|]*Process(?:es)?:(?:\s+GPU Memory)?[\s|]*")
_NOBODY = re.compile(r"[\s|]*no (?:running )?process(?:es)? found\.?[\s|]*", re.IGNORECASE)
_ROW = re.compile(
    r"[\s|]*(\d{1,4})\s+(?P<pid>\d{1,10})\s+(?P<name>\S.*?)\s+"
    r"(?P<memory>\d[\d.]*(?:\s?[KMGT]?i?B)?|N/A|-)[\s|]*",
    re.ASCII,
)
# With the columns of instances and of the type; the name of a process that ends may be missing.
_INSTANCE_ROW = re.compile(
    r"[\s|]*(\d{1,4})\s+(?P<gi>\d{1,4}|N/A)\s+(?P<ci>\d{1,4}|N/A)\s+(?P<pid>\d{1,10})\s+[A-Z+]{1,3}\s+"
    r"(?:(?P<name>\S.*?)\s+)?(?P<memory>\d[\d.]*(?:\s?[KMGT]?i?B)?|N/A)[\s|]*",
    re.ASCII,
)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One process on one GPU."""

    # Of the GPU.
    number: int
    pid: int
    command: str
    # As printed.
    memory: str
    # `gi1/ci0`, of one that runs in a part of the GPU.
    instance: str | None = None


def title_at(lines: Sequence[str]) -> int:
    """Index of the line that begins the table; the number of lines when there is no table."""
    return next((at for at, line in enumerate(lines) if _TITLE.fullmatch(line)), len(lines))


def jobs(lines: Sequence[str], *, instances: bool = False) -> tuple[Job, ...] | None:
    """The processes; None when there is no table of them, or one that cannot be read.

    `instances` where the table has columns of those.
    """
    pattern = _INSTANCE_ROW if instances else _ROW
    rows = process_rows(lines[title_at(lines) + 1 :], pattern, _NOBODY)
    if rows is None:
        return None
    return tuple(
        Job(
            number=int(row[1]),
            pid=int(row["pid"]),
            command=row["name"] or "",
            memory=row["memory"],
            instance=_instance(row.groupdict()),
        )
        for row in rows
        if int(row["pid"])
    )


def _instance(row: Mapping[str, str | None]) -> str | None:
    instance_ids = row.get("gi"), row.get("ci")
    return (
        None
        if None in instance_ids or "N/A" in instance_ids
        else f"gi{instance_ids[0]}/ci{instance_ids[1]}"
    )


def processes_of(device_id: str, jobs: Iterable[Job], units: Units) -> list[Process]:
    """The processes on a GPU, by pid, the rows of a process merged; `units` of its memory."""
    return by_pid(
        listed(device_id, job.pid, job.command, quantity(job.memory, units)) for job in jobs
    )
