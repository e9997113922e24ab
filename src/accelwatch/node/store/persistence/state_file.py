"""One document on disk: loaded once, then written whole, the newest only, by a thread of its own.

A disk that is full or gone costs the persistence and one warning, never a reading.
"""

import contextlib
import functools
import threading
from pathlib import Path
from queue import Empty, Queue
from typing import Generic, TypeVar

import msgspec

from accelwatch.system.files.kept_file import KeptFile, Write, decode_version

_CLOSE_S = 1.0

T = TypeVar("T", bound=msgspec.Struct)


class StateFile(Generic[T]):
    """A document of one type and format; `loss` says what a lost file means."""

    def __init__(
        self, path: Path, kind: type[T], format_: int, loss: str, write: Write | None = None
    ) -> None:
        decode = functools.partial(decode_version, kind=kind, version=format_)
        self._file: KeptFile[T] = KeptFile(path, decode, loss, write=write)
        self._newest: Queue[bytes | None] = Queue(maxsize=1)
        self._thread: threading.Thread | None = None

    def load(self) -> T | None:
        """What is stored; None when there is nothing. A damaged file is set aside."""
        return self._file.load()

    def offer(self, document: T) -> None:
        """Have it written soon; a newer one replaces an older one that still waits."""
        if self._thread is None:
            name = self._file.path.stem.replace("_", "-")
            self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
            self._thread.start()
        self._replace_newest(msgspec.json.encode(document))

    def close(self) -> None:
        """Wait a moment for what was offered to be written."""
        if self._thread is None:
            return
        with contextlib.suppress(Exception):
            self._newest.put(None, timeout=_CLOSE_S)
        self._thread.join(_CLOSE_S)
        self._thread = None

    def _replace_newest(self, data: bytes) -> None:
        with contextlib.suppress(Empty):
            self._newest.get_nowait()
        self._newest.put_nowait(data)

    def _serve(self) -> None:
        while (data := self._newest.get()) is not None:
            self._file.save(data)
