"""Files replaced as a whole: who reads one sees the content before or the new one, never a part.

Links are not followed: what is kept here is written by nobody else.
"""

import contextlib
import io
import os
from collections.abc import Iterable
from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
# Readable by its owner only.
PRIVATE = 0o600
# As the process's umask allows.
_SHARED = 0o666


def read_replaced(path: Path, most_bytes: int | None = None) -> bytes:
    """What a file holds that `replace_file` has written.

    Raises OSError, also for a link, and ValueError where there is more than `most_bytes`.
    """
    with io.FileIO(str(path), opener=_without_links) as file:
        size = os.fstat(file.fileno()).st_size
        if most_bytes is not None and size > most_bytes:
            raise ValueError(f"it has {size} bytes, more than {most_bytes}")
        return file.readall()


def _without_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def replace_file(path: Path, data: bytes, *, mode: int = _SHARED, durable: bool = True) -> None:
    """Write `data` beside `path` and rename it over `path`; `durable`: after a power cut too.

    Folders above are made. Raises OSError and leaves the file as it was; nothing stays beside it.
    """
    replace_in_chunks(path, (data,), mode=mode, durable=durable)


def replace_in_chunks(
    path: Path, chunks: Iterable[bytes | memoryview], *, mode: int = _SHARED, durable: bool = True
) -> None:
    """As `replace_file`, of what is too large to be made at once; what `chunks` raises passes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, _FLAGS, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        beside.replace(path)
        if durable:
            _sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def remove_interrupted(path: Path) -> None:
    """Remove what processes left beside `path` that were killed while they wrote.

    Only for the single writer of `path`.
    """
    with contextlib.suppress(OSError):
        for beside in path.parent.iterdir():
            name, _, process = beside.name.rpartition(".")
            if name == f".{path.name}" and process.isdecimal():
                beside.unlink()


def _sync_folder(folder: Path) -> None:
    """Have the new name of a file outlive a power cut, where the file system can do that."""
    # The file is whole under its name by now, so a failure here is none of the caller's.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
