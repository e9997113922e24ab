"""Starts a program alone in its group: below a subreaper where the system has them."""

import os
import subprocess
import sys
from collections.abc import Mapping

from accelwatch.system.processes.child_process import anonymous_file
from accelwatch_script.process import subreaper
from accelwatch_script.process.command import Command

_UMASK = 0o077


def start(command: Command, folder: str, document: int) -> "subprocess.Popen[bytes]":
    """Raises OSError for a program that cannot be started."""
    if command.user is not None:
        os.chown(folder, *command.user)
    if sys.platform == "linux" and sys.executable:
        return _start_with_subreaper(command, folder, document)
    return _start_without_subreaper(command, folder, document)


def _start_with_subreaper(
    command: Command, folder: str, document: int
) -> "subprocess.Popen[bytes]":
    environ = anonymous_file("environ")
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as error_pipe:
        try:
            os.write(environ, _environment_block(command.environ))
            os.lseek(environ, 0, os.SEEK_SET)
            process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", subreaper.__file__, str(writes), str(environ)),
                    *map(str, (_UMASK, *(command.user or (-1, -1)))),
                    *command.argv,
                ],
                stdin=document,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                start_new_session=True,
                pass_fds=[writes, environ],
                bufsize=0,
            )
        finally:
            os.close(writes)
            os.close(environ)
        failure = error_pipe.read()
    if failure:
        with process:
            raise OSError(int(failure), os.strerror(int(failure)))
    return process


def _environment_block(environ: Mapping[str, str]) -> bytes:
    """In the form of /proc/PID/environ. Raises ValueError for what no environment can hold."""
    for name, value in environ.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"the variable {name!r} cannot be set")
    return b"".join(os.fsencode(f"{name}={value}\0") for name, value in environ.items())


def _start_without_subreaper(
    command: Command, folder: str, document: int
) -> "subprocess.Popen[bytes]":
    uid, gid = command.user or (None, None)
    return subprocess.Popen(
        command.argv,
        stdin=document,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(command.environ),
        umask=_UMASK,
        start_new_session=True,
        user=uid,
        group=gid,
        extra_groups=None if gid is None else [],
        bufsize=0,
    )
