"""From a trigger to a frozen file: noted on the disk at once, written when enough has followed.

The note is there before anything else, so that a writer that is killed in between, or a machine that
goes down, costs what would have followed and nothing else: the next writer freezes what is there.
"""

import contextlib
import functools
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from accelwatch.archive.blackbox.bounds import Bounds
from accelwatch.archive.blackbox.files import Segment, frozen_files, frozen_path, partial_path
from accelwatch.archive.blackbox.triggers import Trigger
from accelwatch.system.files.kept_file import KeptFile, decode_version

_NOTE = "pending.json"
_VERSION = 1
# A freeze that failed is tried again after this long.
_AGAIN_S = 60.0
# Copied at once from a segment into a frozen file.
_COPIED_BYTES = 64 << 10


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is to be frozen: by what, and up to when is waited for more."""

    first: Trigger
    until: float


class Freezer:
    """Decides what is frozen when, and writes it. For one thread; methods raise OSError."""

    def __init__(self, folder: Path, bounds: Bounds) -> None:
        self._folder = folder
        self._bounds = bounds
        self._recent: dict[tuple[str, str], float] = {}
        self._not_before = float("-inf")
        self._note: KeptFile[Pending] = KeptFile(
            folder / _NOTE,
            functools.partial(decode_version, kind=Pending, version=_VERSION),
            "what the black box was to freeze is lost",
        )
        # What is waited for.
        self.pending = self._note.load()

    @property
    def since(self) -> float | None:
        """From when on the ring must be kept for what is pending."""
        return None if self.pending is None else self.pending.first.time - self._bounds.before_s

    def note(self, triggers: Iterable[Trigger]) -> bool:
        """Add triggers; whether they start a new freeze, which is noted on the disk."""
        fresh = [trigger for trigger in triggers if self._is_fresh(trigger)]
        if not fresh:
            return False
        until = max(trigger.time for trigger in fresh) + self._bounds.after_s
        is_new = self.pending is None
        if self.pending is None:
            self.pending = Pending(first=fresh[0], until=until)
        else:
            most = self.pending.first.time + self._bounds.most_after_s
            until = max(self.pending.until, min(until, most))
            self.pending = msgspec.structs.replace(self.pending, until=until)
        # Without a note a file is frozen all the same, unless the writer ends before.
        if not self._note.problem:
            self._note.write(msgspec.json.encode(self.pending))
        return is_new

    def _is_fresh(self, trigger: Trigger) -> bool:
        """Whether this has not happened to the device for a while; it counts as having happened now."""
        key = (trigger.device_id, trigger.reason)
        before = self._recent.get(key)
        again = before is not None and abs(trigger.time - before) < self._bounds.again_s
        if len(self._recent) >= 4096:
            self._recent.clear()
        self._recent[key] = trigger.time
        return not again

    def due(self, now: float) -> bool:
        """Whether what is pending is to be frozen now; also when the clock was set far back."""
        if self.pending is None or now < self._not_before:
            return False
        return not self.pending.first.time - self._bounds.before_s < now < self.pending.until

    def freeze(self, ring: list[Segment], now: float) -> Path | None:
        """Join the finished segments to one recording; None when there is nothing to join.

        Raises OSError when it cannot be written; it is then tried again later.
        """
        pending, self._not_before = self.pending, now + _AGAIN_S
        if pending is None:
            return None
        path = None
        if ring:
            self.prune(now, room_for=sum(segment.bytes for segment in ring))
            path = frozen_path(self._folder, pending.first)
            _join(ring, path)
        self.give_up()
        return path

    def give_up(self) -> None:
        """What is pending is over."""
        self.pending, self._not_before = None, float("-inf")
        self._note.remove()

    def prune(self, now: float, room_for: int = 0) -> None:
        """Let go of frozen files that are too many, too old or too large together, oldest first."""
        existing = frozen_files(self._folder)
        most = self._bounds.frozen_files - (1 if room_for else 0)
        total = sum(file.bytes for file in existing) + room_for
        while existing and (
            len(existing) > most
            or total > self._bounds.frozen_bytes
            or now - existing[-1].time > self._bounds.frozen_age_s
        ):
            oldest = existing.pop()
            total -= oldest.bytes
            oldest.path.unlink(missing_ok=True)


def _join(ring: list[Segment], path: Path) -> None:
    """One recording of several: a recording is blocks one after another, whatever file they are of."""
    partial = partial_path(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(partial, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as frozen:
            for segment in ring:
                with segment.path.open("rb") as piece:
                    # Not shutil, which costs an agent half a MiB on the day on which a device breaks.
                    while chunk := piece.read(_COPIED_BYTES):
                        frozen.write(chunk)
            frozen.flush()
            os.fsync(frozen.fileno())
        partial.rename(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
