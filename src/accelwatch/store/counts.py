"""Event counters on disk: written whole beside the old file, then renamed over it.

A disk that is full or gone costs the persistence and one warning, never a reading.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue

import msgspec

from accelwatch.atomic_file import replace_file
from accelwatch.schema.snapshot import EventCount

logger = logging.getLogger(__name__)

Counts = dict[str, dict[str, EventCount]]
"""Device id (empty: the node) to code to count."""

_FILE = "event_counts.json"
_FORMAT = 1
_CLOSE_S = 1.0


class _Document(msgspec.Struct, frozen=True):
    format: int
    counts: Counts


class CountFile:
    """Loads counters once, then writes the newest ones on a thread of its own."""

    def __init__(
        self, state_dir: Path, write: Callable[[Path, bytes], None] = replace_file
    ) -> None:
        self._path = state_dir / _FILE
        self._write = write
        self._newest: Queue[bytes | None] = Queue(maxsize=1)
        self._thread: threading.Thread | None = None
        self._failing = False

    def load(self) -> Counts:
        """The stored counters; empty when there are none. A damaged file is set aside."""
        try:
            document = msgspec.json.decode(self._path.read_bytes(), type=_Document)
        except FileNotFoundError:
            return {}
        except OSError as error:
            logger.warning("event counters cannot be read path=%s error=%s", self._path, error)
            return {}
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._set_aside(str(error))
            return {}
        if document.format != _FORMAT:
            self._set_aside(f"format {document.format}")
            return {}
        return document.counts

    def offer(self, counts: Counts) -> None:
        """Have these counters written soon; newer ones replace older ones that still wait."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="event-counts", daemon=True)
            self._thread.start()
        self._put(msgspec.json.encode(_Document(_FORMAT, counts)))

    def close(self) -> None:
        """Wait a moment for what was offered to be written."""
        if self._thread is None:
            return
        with contextlib.suppress(Exception):
            self._newest.put(None, timeout=_CLOSE_S)
        self._thread.join(_CLOSE_S)
        self._thread = None

    def _put(self, data: bytes) -> None:
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
                        "event counters are kept in memory only path=%s error=%s",
                        self._path,
                        error,
                    )
                self._failing = True
            else:
                self._failing = False

    def _set_aside(self, fault: str) -> None:
        aside = self._path.with_name(f"{self._path.name}.damaged")
        with contextlib.suppress(OSError):
            self._path.replace(aside)
        logger.warning(
            "event counters are damaged path=%s fault=%s kept=%s", self._path, fault, aside
        )
