"""Whether files of keys and certificates are still those that were read."""

from pathlib import Path

from accelwatch.base.errors import ConfigError

# Of each file: inode, bytes, and when it was changed.
Stamps = tuple[tuple[int, int, int], ...]


def file_stamps(*names: str) -> Stamps:
    """Of the files that have a name. Raises ConfigError for one that is not there."""
    stamps = []
    for name in filter(None, names):
        try:
            status = Path(name).stat()
        except OSError as error:
            raise ConfigError(f"{name}: cannot be read: {error.strerror}") from error
        stamps.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(stamps)
