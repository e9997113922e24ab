"""The key that links and forms are signed with: a file that only the hub's user can read."""

import os
import secrets
from pathlib import Path

from accelwatch.base.errors import ConfigError
from accelwatch.system.files.secret_file import read_secret

# In the hub's state folder.
FILE = "links.key"
_BYTES = 32


def signing_key(file: Path | None, folder: Path | None) -> bytes:
    """The key in a file that is configured, else in the state folder, where it is made the first time.

    With neither it is made up, and what was signed with it dies with the process. Raises ConfigError,
    which does not repeat it.
    """
    if file is not None:
        return _read(file)
    if folder is None:
        return secrets.token_bytes(_BYTES)
    path = folder / FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise ConfigError(f"{path}: the key of links cannot be made: {error.strerror}") from error
    key = secrets.token_hex(_BYTES).encode()
    with os.fdopen(descriptor, "wb") as made:
        made.write(key + b"\n")
        made.flush()
        os.fsync(made.fileno())
    return key


def _read(path: Path) -> bytes:
    key = read_secret(path, "the key of links")
    if len(key) < _BYTES:
        raise ConfigError(
            f"{path}: the key of links has {len(key)} bytes, at least {_BYTES} are needed; "
            f"make one: openssl rand -hex 32 > {path}"
        )
    return key
