"""A secret that lies in a file of its own, which nobody but its owner may read or write."""

import os
import stat
from pathlib import Path

from accelwatch.base.errors import ConfigError

_MOST_BYTES = 4096
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_secret(path: Path, name: str, *, follow_links: bool = False) -> bytes:
    """What the file has, without blanks around it. Raises ConfigError, which does not repeat it.

    `name` says in the message what the secret is. Links are followed only with `follow_links`: a folder
    that others write to may hold one that leads to a file of theirs, but Kubernetes mounts its
    secrets by links.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise ConfigError(f"{path}: {name} cannot be read: {error.strerror}") from error
    try:
        mode = os.fstat(descriptor).st_mode
        secret = os.read(descriptor, _MOST_BYTES).strip() if stat.S_ISREG(mode) else b""
    except OSError as error:
        raise ConfigError(f"{path}: {name} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{path}: {name} is not a file")
    if mode & _GROUP_AND_OTHERS:
        raise ConfigError(f"{path}: others can read or write {name}; chmod 600 {path}")
    return secret
