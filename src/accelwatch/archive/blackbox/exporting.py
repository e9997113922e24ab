"""One file to send away: a frozen one as it is, or a copy without what is personal."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from accelwatch.archive.blackbox.files import partial_path
from accelwatch.archive.blackbox.redaction import redacted
from accelwatch.archive.recording import Recording
from accelwatch.archive.recording.files import windows
from accelwatch.archive.recording.recording import decoded
from accelwatch.archive.recording.repair import Salvage, complete_file, in_order, losses
from accelwatch.base.errors import AccelwatchError, UsageError, WireError
from accelwatch.schema.snapshot import Snapshot

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20


def export(source: Path, target: Path, *, redact: bool, warn: Callable[[str], None]) -> int:
    """Write the recording to a file that is not there yet, mode 0600; how many bytes it has.

    Of damage, a copy has all that can be read; `warn` is called with what was lost.

    Raises UsageError where there is a file, WireError for a recording without a document,
    AccelwatchError for what cannot be read or written.
    """
    for existing in (target, partial_path(target)):
        if existing.exists() or existing.is_symlink():
            raise UsageError(f"{existing} exists already; choose another name with -o FILE")
    try:
        if redact or not source.is_file():
            _rewrite(source, target, redact=redact, warn=warn)
        else:
            _copied(source, target)
        return target.stat().st_size
    except OSError as error:
        raise AccelwatchError(f"cannot export to {target}: {error.strerror}") from error


def exported(
    source: Path, name: str, *, redact: bool, warn: Callable[[str], None]
) -> Iterator[bytes]:
    """What `export` would write into a file of that name, in pieces. Raises as it does."""
    try:
        with _opened(source, name, redact=redact, warn=warn) as file:
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        raise AccelwatchError(f"cannot export {source}: {error.strerror}") from error


def _opened(source: Path, name: str, *, redact: bool, warn: Callable[[str], None]) -> BinaryIO:
    """The bytes to export; what is written for it is gone from its folder before anybody reads."""
    if not redact and source.is_file():
        _refuse_rubbish(source)
        return source.open("rb")
    with tempfile.TemporaryDirectory(prefix="accelwatch-export-") as folder:
        target = Path(folder) / name
        _rewrite(source, target, redact=redact, warn=warn)
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


def _rewrite(source: Path, target: Path, *, redact: bool, warn: Callable[[str], None]) -> None:
    with complete_file(target) as recorder:
        for snapshot in _snapshots(source, warn):
            recorder.write(redacted(snapshot) if redact else snapshot)


def _snapshots(source: Path, warn: Callable[[str], None]) -> Iterator[Snapshot]:
    """What can be read, also behind damage; each damage is reported to `warn`."""
    with Recording.open(source) as recording:
        if not recording.is_damaged:
            for index in range(len(recording)):
                with contextlib.suppress(WireError):
                    yield recording.at(index)
            return
    with contextlib.ExitStack() as opened:
        salvages = [
            Salvage(opened.enter_context(contextlib.closing(window))) for window in windows(source)
        ]
        for line in in_order(salvages):
            with contextlib.suppress(WireError):
                yield decoded(line)
    lost = losses(
        sum(salvage.lost for salvage in salvages),
        sum(salvage.damaged_lines for salvage in salvages),
        sum(salvage.positions for salvage in salvages),
    )
    warn(f"{source} is damaged; the copy has what can be read of it: {lost}")
