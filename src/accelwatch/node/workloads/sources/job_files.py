"""Files in which a prolog names the job that holds a device; both layouts in use are read as they are.

One file per device, named `<gpu>` or `<gpu>.<gpu instance>`: either a job id a line (as for
dcgm-exporter's `--hpc-job-mapping-dir`), or a JSON object with SLURM_ variables (as for AMD's
device-metrics-exporter, `/var/run/exporter`).
"""

import os
import re
from itertools import islice
from pathlib import Path

import msgspec

from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.node.workloads.sources import environ, regular_file
from accelwatch.node.workloads.sources.environ import Job

_NAME = re.compile(r"(\d{1,4})(?:\.(\d{1,4}))?", re.ASCII)
_JOB_ID = re.compile(r"[\x21-\x7e]{1,64}")
_MAX_FILES = 1_024
_MAX_JOBS = 64
_MAX_BYTES = 64 << 10


class JobFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file: a device by index, perhaps one GPU instance of it, and its jobs."""

    index: int
    gpu_instance: int | None = None
    jobs: tuple[Job, ...] = ()


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """AMD's object; other keys are ignored. Numbers are accepted as well as text."""

    SLURM_JOB_ID: str | int = ""
    SLURM_JOB_USER: str | int = ""
    SLURM_JOB_ACCOUNT: str | int = ""
    SLURM_JOB_PARTITION: str | int = ""


def read(folder: Path) -> tuple[tuple[JobFile, ...], int]:
    """(files, how many could not be understood). Raises SourceError when there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, _MAX_FILES))
    except PermissionError as error:
        raise SourceError(f"{folder}: permission denied", reason="permission") from error
    except OSError as error:
        raise SourceError(f"{folder}: {error.strerror}", reason="absent") from error
    files: list[JobFile] = []
    unread = 0
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        jobs = _jobs_in(folder / name)
        if jobs is None:
            unread += 1
        elif jobs:
            instance = int(match[2]) if match[2] else None
            files.append(JobFile(index=int(match[1]), gpu_instance=instance, jobs=jobs))
    return tuple(files), unread


def _jobs_in(path: Path) -> tuple[Job, ...] | None:
    content = regular_file.content(path, _MAX_BYTES)
    return None if content is None else parse(content)


def parse(content: bytes) -> tuple[Job, ...] | None:
    """Jobs in a file's content: none in an empty one, None when it is neither layout."""
    text = content.strip()
    if text.startswith(b"{"):
        return _parse_object(text)
    lines = text.decode("latin-1").split("\n")
    ids = list(dict.fromkeys(line.strip() for line in lines if line.strip()))[:_MAX_JOBS]
    if not all(_JOB_ID.fullmatch(job_id) for job_id in ids):
        return None
    return tuple(Job(scheduler="slurm", job_id=job_id) for job_id in ids)


def _parse_object(text: bytes) -> tuple[Job, ...] | None:
    try:
        entry = msgspec.json.decode(text, type=_Entry)
    except DECODE_ERRORS:
        return None
    variables = {
        name: environ.label(str(value)) for name, value in msgspec.structs.asdict(entry).items()
    }
    job = environ.job(variables)
    return (job,) if job is not None else ()
