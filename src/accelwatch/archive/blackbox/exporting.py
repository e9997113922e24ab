"""One file to send away: a frozen one as it is, or written anew without what is personal."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from accelwatch.archive.blackbox.redaction import redacted
from accelwatch.archive.recording import Recorder, Recording
from accelwatch.base.errors import AccelwatchError, UsageError, WireError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20


def export(source: Path, target: Path, *, redact: bool) -> int:
    """Write the recording to a file that is not there yet, mode 0600; how many bytes it has.

    Raises UsageError where there is a file, WireError for a recording without a document,
    AccelwatchError for what cannot be read or written.
    """
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} exists already; choose another name with -o FILE")
    try:
        if redact or not source.is_file():
            _rewrite(source, target, redact=redact)
        else:
            _copied(source, target)
        return target.stat().st_size
    except OSError as error:
        raise AccelwatchError(f"cannot export to {target}: {error.strerror}") from error


def exported(source: Path, name: str, *, redact: bool) -> Iterator[bytes]:
    """What `export` would write into a file of that name, in pieces. Raises as it does."""
    try:
        with _opened(source, name, redact=redact) as file:
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        raise AccelwatchError(f"cannot export {source}: {error.strerror}") from error


def _opened(source: Path, name: str, *, redact: bool) -> BinaryIO:
    """The bytes to export; what is written for it is gone from its folder before anybody reads."""
    if not redact and source.is_file():
        _refuse_rubbish(source)
        return source.open("rb")
    with tempfile.TemporaryDirectory(prefix="accelwatch-export-") as folder:
        target = Path(folder) / name
        _rewrite(source, target, redact=redact)
        return target.open("rb")


def _refuse_rubbish(source: Path) -> None:
    """Raises WireError for what holds no document: nobody could play the copy."""
    Recording.open(source).close()


def _copied(source: Path, target: Path) -> None:
    _refuse_rubbish(source)
    with source.open("rb") as original, os.fdopen(os.open(target, _NEW, 0o600), "wb") as file:
        try:
            shutil.copyfileobj(original, file)
        except OSError:
            with contextlib.suppress(OSError):
                target.unlink()
            raise


def _rewrite(source: Path, target: Path, *, redact: bool) -> None:
    with (
        Recording.open(source) as recording,
        Recorder(target, max_bytes=1 << 40, keep=1) as recorder,
    ):
        for index in range(len(recording)):
            with contextlib.suppress(WireError):
                snapshot = recording.at(index)
                recorder.write(redacted(snapshot) if redact else snapshot)
