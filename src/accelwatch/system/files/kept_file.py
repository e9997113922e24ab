"""A document in a file that only its owner reads: replaced as a whole, and never lost in silence.

A file that is damaged or of another version is set aside or left where it is. One that could not be read
is never written over: it may be all that is left of what it holds.
"""

import errno
import functools
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import WireError
from accelwatch.system.files.atomic_file import (
    PRIVATE,
    read_replaced,
    replace_file,
    replace_in_chunks,
)
from accelwatch.system.files.damaged import set_aside

logger = logging.getLogger(__name__)

T = TypeVar("T")
Write = Callable[[Path, bytes], None]
# What decoders raise; UnicodeDecodeError is a ValueError.
_DAMAGE = (*DECODE_ERRORS, msgspec.MsgspecError, WireError, ValueError)


class DamagedFileError(ValueError):
    """The file holds no document of this version."""


class KeptFile(Generic[T]):
    """For one thread at a time; `problem` says why nothing is written, empty while all is well."""

    def __init__(
        self,
        path: Path,
        decode: Callable[[bytes], T],
        loss: str,
        *,
        leave_damaged: bool = False,
        durable: bool = True,
        most_bytes: int | None = None,
        most_aside: int | None = None,
        write: Write | None = None,
    ) -> None:
        """`decode` raises MsgspecError, WireError or ValueError for anything but a whole document.

        `loss` is what a lost file means, as people read it: "event counters start at 0". With
        `leave_damaged` a person decides what becomes of a damaged file, else it is set aside.
        `durable`: what is written outlives a power cut. A file of more than `most_bytes` is a damaged
        one. Of what is set aside the newest `most_aside` copies are kept, else all. `write` stands in
        for the disk in tests.
        """
        self.path = path
        self.problem = ""
        self._decode = decode
        self._loss = loss
        self._leave_damaged = leave_damaged
        self._durable = durable
        self._most_bytes = most_bytes
        self._most_aside = most_aside
        self._write = write or functools.partial(replace_file, mode=PRIVATE, durable=durable)
        self._complaint = ""

    def read(self) -> T | None:
        """The document; None where there is no file.

        Raises OSError, also for a link, and DamagedFileError.
        """
        try:
            return self._decode(read_replaced(self.path, self._most_bytes))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except _DAMAGE as error:
            raise DamagedFileError(str(error)) from error

    def load(self) -> T | None:
        """The document; None where there is none that can be read, which is logged."""
        try:
            return self.read()
        except OSError as error:
            self._leave(error.strerror or str(error))
        except DamagedFileError as error:
            self._refuse(str(error))
        return None

    def write(self, data: bytes) -> None:
        """Replace the file. Raises OSError, and the file stays as it was."""
        if self.problem:
            raise OSError(errno.EPERM, self.problem)
        self._write(self.path, data)

    def remove(self) -> None:
        """There is nothing to keep any more. Raises OSError."""
        if not self.problem:
            self.path.unlink(missing_ok=True)

    def save(self, data: bytes) -> str:
        """Replace the file; why it stays as it was, or empty. A new reason is logged, once."""
        return self._save(lambda: self._write(self.path, data))

    def save_chunks(self, chunks: Iterable[bytes | memoryview]) -> str:
        """As `save`, of what is too large to be made at once."""
        return self._save(
            lambda: replace_in_chunks(self.path, chunks, mode=PRIVATE, durable=self._durable)
        )

    def _save(self, write: Callable[[], None]) -> str:
        complaint = self.problem
        if not complaint:
            try:
                write()
            except OSError as error:
                complaint = f"{self.path}: {error.strerror or error}"
                if complaint != self._complaint:
                    logger.warning(
                        "changes are kept in memory only path=%s error=%s", self.path, error
                    )
        self._complaint = complaint
        return complaint

    def _refuse(self, fault: str) -> None:
        if self._leave_damaged:
            self._leave(fault)
            return
        try:
            aside = set_aside(self.path, most=self._most_aside)
        except OSError as error:
            self._leave(f"{fault}, and it cannot be set aside: {error.strerror or error}")
            return
        logger.warning(
            "%s, since a file is damaged or of another version: it is set aside and a new one started; "
            "put a good copy in its place and restart, or remove it path=%s fault=%s kept=%s",
            *(self._loss, self.path, fault, aside),
        )

    def _leave(self, fault: str) -> None:
        self.problem = (
            f"{self.path}: {self._loss}: {fault}; nothing is written there until it is put back from a "
            "backup or moved away, and this process restarted"
        )
        logger.error("%s", self.problem)


def decode_version(data: bytes, kind: type[T], version: int, key: str = "format") -> T:
    """A JSON document with its version under `key`; without that key it is of the first.

    Raises MsgspecError, ValueError.
    """
    written = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get(key)
    if written is not None and bytes(written) != str(version).encode():
        raise ValueError(f"{key} {bytes(written).decode()}")
    return msgspec.json.decode(data, type=kind)
