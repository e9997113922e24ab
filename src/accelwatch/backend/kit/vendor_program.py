"""A vendor's command: where it is looked for, and its output or why there is none."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from accelwatch.base.errors import DevicePermission, DeviceTimeout, ReadError
from accelwatch.base.failure_line import failure_line
from accelwatch.system.processes import command
from accelwatch.system.processes.complete_output import CompletenessCheck, has_full_output, never
from accelwatch.system.processes.printed import plain

# Where packages put commands. PATH is not searched: anyone may set it, and we may be root.
FOLDERS = ("usr/bin", "usr/local/bin", "bin", "usr/sbin", "usr/local/sbin", "sbin")


def find_program(root: Path, names: Sequence[str], folders: Sequence[str] = ()) -> Path | None:
    """The first of these that can be run, by folder (a vendor's own first), then by name."""
    for folder in (*folders, *FOLDERS):
        for name in names:
            path = root / folder / name
            if path.is_file() and os.access(path, os.X_OK):
                return path
    return None


def chosen_program(
    root: Path, named: object, names: Sequence[str], folders: Sequence[str] = ()
) -> Path | None:
    """The file that an option of the configuration names, found or not; without one, `find_program`."""
    if isinstance(named, str):
        return Path(named) if Path(named).is_file() else None
    return find_program(root, names, folders)


def output_of(
    program: Path,
    *arguments: str,
    timeout_s: float,
    environ: Mapping[str, str] | None = None,
    is_complete: CompletenessCheck = never,
) -> bytes:
    """What the command prints, without colours; `environ` is added to the environment that it gets.

    `is_complete` says of an output whether it counts although the command ended with a status of
    failure. Raises DeviceTimeout, DevicePermission, or ReadError with its first line of complaint.
    """
    result = command.run([str(program), *arguments], timeout_s=timeout_s, environ=environ)
    command_line = " ".join((program.name, *arguments))
    output = plain(result.output)
    if result.ok:
        return output
    if result.failure == "timeout":
        raise DeviceTimeout(f"{command_line} did not end within {timeout_s:g} s", code="timeout")
    if result.failure == "permission":
        raise DevicePermission(f"{program} may not be run by this user", code="permission")
    if result.failure:
        raise ReadError(f"{command_line}: {result.failure}", code="command_failed")
    if has_full_output(result.status, output, is_complete):
        return output
    raise ReadError(
        f"{command_line} ended with status {result.status}: {_reason(result)}",
        code="command_failed",
    )


def optional_output(
    run: Callable[..., bytes], *arguments: str, is_complete: CompletenessCheck
) -> bytes:
    """What a run prints that may fail, then nothing. Raises DeviceTimeout: no other is to follow it."""
    try:
        return run(*arguments, is_complete=is_complete)
    except DeviceTimeout:
        raise
    except ReadError:
        return b""


def _reason(result: command.CommandResult) -> str:
    texts = (text.decode("utf-8", "replace") for text in (result.errors, result.output))
    return next((line for line in map(failure_line, texts) if line), "it printed nothing")
