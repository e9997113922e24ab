"""Where reading stopped: boot and sequence number, kept over restarts in the state directory."""

import logging
import os
from pathlib import Path

import msgspec

_LOG = logging.getLogger(__name__)
_FILE = "kernel_log.json"


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """The last record that was handed on; sequence numbers begin anew at each boot."""

    boot_id: str
    sequence: int


class PositionStore:
    """Keeps the position in one small file; without a directory it keeps nothing."""

    def __init__(self, state_dir: Path | None) -> None:
        self._path = state_dir / _FILE if state_dir is not None else None
        self._failing = False

    def load(self) -> Position | None:
        """The stored position; None when there is none or it is damaged."""
        if self._path is None:
            return None
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Position)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def save(self, position: Position) -> bool:
        """Replace the file in one step; a full disk costs the position, never an event."""
        if self._path is None:
            return False
        draft = self._path.with_name(f".{_FILE}.{os.getpid()}")
        try:
            draft.write_bytes(msgspec.json.encode(position))
            draft.replace(self._path)
        except OSError as error:
            if not self._failing:
                _LOG.warning("position not kept path=%s error=%s", self._path, error)
            self._failing = True
            return False
        self._failing = False
        return True
