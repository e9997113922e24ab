"""A secret that lies in a file of its own, which nobody else may read or write."""

import os
import stat
from pathlib import Path

from accelwatch.base.errors import ConfigError
from accelwatch.system.files.file_rights import is_read_only, written_by_everybody

# A token with many claims has some kilobytes.
_MOST_BYTES = 64 << 10
# As ssh has it for a private key: neither group nor others of a file of our own.
_OF_OUR_FILE = stat.S_IRWXG | stat.S_IRWXO
# Of a file that root has left to our group, or another user to nobody, the group may read it.
_OF_A_FILE_OF_OTHERS = stat.S_IWGRP | stat.S_IRWXO


def read_secret(path: Path, name: str, *, follow_links: bool = False) -> bytes:
    """What the file has, without blanks around it. Raises ConfigError, which does not repeat it.

    `name` says in the message what the secret is. What is mounted read-only is for us alone, whatever
    its mode: a container's secrets. Links are followed only with `follow_links`: a folder
    that others write to may hold one that leads to a file of theirs, but Kubernetes mounts its
    secrets by links.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise ConfigError(f"{path}: {name} cannot be read: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        mode = status.st_mode
        unsafe = written_by_everybody(path, status)
        secret = os.read(descriptor, _MOST_BYTES).strip() if stat.S_ISREG(mode) else b""
    except OSError as error:
        raise ConfigError(f"{path}: {name} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{path}: {name} is not a file")
    if unsafe:
        raise ConfigError(f"{path}: {unsafe}")
    refused = _OF_OUR_FILE if status.st_uid == os.geteuid() else _OF_A_FILE_OF_OTHERS
    if mode & refused and not is_read_only(path):
        raise ConfigError(f"{path}: others can read or write {name}; chmod 600 {path}")
    return secret
