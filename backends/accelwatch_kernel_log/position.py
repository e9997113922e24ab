"""Where the kernel log was read up to, kept over restarts within one boot."""

import functools
import logging
from pathlib import Path

import msgspec

from accelwatch.system.files.kept_file import DamagedFileError, KeptFile, decode_version

_LOG = logging.getLogger(__name__)
_FILE = "kernel_log.json"
_VERSION = 1
_UNKNOWN = (
    "where the kernel log was read up to is not known: faults that it has from before this start "
    "are not reported"
)
_WORTHLESS = (
    "where the kernel log of an earlier boot was read up to cannot be read: nothing is lost by that, "
    "and the file is rewritten"
)


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """The last record that was handed on; sequence numbers restart at each boot."""

    boot_id: str
    sequence: int


class PositionStore:
    """Keeps the position in one small file; without a directory it keeps nothing."""

    def __init__(self, state_dir: Path | None) -> None:
        decode = functools.partial(decode_version, kind=Position, version=_VERSION)
        self._file: KeptFile[Position] | None = (
            None
            if state_dir is None
            else KeptFile(state_dir / _FILE, decode, _UNKNOWN, durable=False)
        )

    def load(self, boot_time: float) -> Position | None:
        """The stored position; None when there is none. A damaged file is logged.

        It is set aside too, unless it is from before `boot_time`, as after a power cut: the log of
        that boot is gone.
        """
        if self._file is None:
            return None
        if not _is_from_before(self._file.path, boot_time):
            return self._file.load()
        try:
            return self._file.read()
        except (OSError, DamagedFileError) as error:
            _LOG.warning("%s path=%s fault=%s", _WORTHLESS, self._file.path, error)
            return None

    def save(self, position: Position) -> bool:
        """Replace the file in one step; a full disk costs the position, never an event."""
        return self._file is not None and not self._file.save(msgspec.json.encode(position))


def _is_from_before(path: Path, boot_time: float) -> bool:
    try:
        return path.lstat().st_mtime < boot_time
    except OSError:
        return False
