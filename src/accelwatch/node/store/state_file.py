"""One document on disk: loaded once, then written whole, the newest only, by a thread of its own.

A disk that is full or gone costs the persistence and one warning, never a reading.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from typing import Generic, Protocol, TypeVar

import msgspec

from accelwatch.files.atomic_file import read_replaced, replace_file
from accelwatch.files.damaged import set_aside

logger = logging.getLogger(__name__)

Write = Callable[[Path, bytes], None]
_CLOSE_S = 1.0


class Document(Protocol):
    """What a file holds, and by which number its shape is known."""

    @property
    def format(self) -> int:
        """The number."""
        ...


T = TypeVar("T", bound=Document)


class StateFile(Generic[T]):
    """A document of one type and format; `what` it holds is said in warnings."""

    def __init__(
        self, path: Path, kind: type[T], format_: int, what: str, write: Write = replace_file
    ) -> None:
        self._path = path
        self._kind = kind
        self._format = format_
        self._what = what
        self._write = write
        self._newest: Queue[bytes | None] = Queue(maxsize=1)
        self._thread: threading.Thread | None = None
        self._failing = False

    def load(self) -> T | None:
        """What is stored; None when there is nothing. A damaged file is set aside."""
        try:
            document = msgspec.json.decode(read_replaced(self._path), type=self._kind)
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.warning("%s cannot be read path=%s error=%s", self._what, self._path, error)
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._set_aside(str(error))
            return None
        if document.format != self._format:
            self._set_aside(f"format {document.format}")
            return None
        return document

    def offer(self, document: T) -> None:
        """Have it written soon; a newer one replaces an older one that still waits."""
        if self._thread is None:
            name = self._path.stem.replace("_", "-")
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
            try:
                self._write(self._path, data)
            except OSError as error:
                if not self._failing:
                    logger.warning(
                        "%s are kept in memory only path=%s error=%s",
                        self._what,
                        self._path,
                        error,
                    )
                self._failing = True
            else:
                self._failing = False

    def _set_aside(self, fault: str) -> None:
        aside = set_aside(self._path)
        logger.warning(
            "%s are damaged path=%s fault=%s kept=%s", self._what, self._path, fault, aside
        )
