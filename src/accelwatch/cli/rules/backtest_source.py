"""What a back-test plays: an archive, or one made of a store or a recording, and which span of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.cli.output import complain

if TYPE_CHECKING:
    from accelwatch.archive.history.reading.reader import Archive
    from accelwatch.fleet.backtest.incidents import Backtest

# Rules that are named, of those that cannot be evaluated.
_NAMED = 6


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What is played; one of the first three."""

    history: Path | None = None
    prometheus: str | None = None
    replay: Path | None = None
    start: str | None = None
    end: str | None = None
    interval: str = "30s"


@contextmanager
def archive_of(source: Source) -> Iterator[Path]:
    """The archive itself, or one made for this while out of a store or a recording."""
    import tempfile

    if source.history is not None:
        yield source.history
        return
    with tempfile.TemporaryDirectory(prefix="accelwatch-backtest-") as name:
        folder = Path(name) / "archive"
        if source.replay is not None:
            from accelwatch.cli.progress import counting, progress
            from accelwatch.fleet.archive.replayed import replayed

            with progress(f"reading {source.replay.name}", None, counting("documents")) as bar:
                replayed(source.replay, folder, complain, bar.at)
        else:
            from accelwatch.base.errors import UsageError
            from accelwatch.cli.history.archive_export import StoreAccess, history_export

            if source.start is None:
                raise UsageError("--prometheus needs --from, such as --from 7d")
            assert source.prometheus is not None
            access = StoreAccess(url=source.prometheus)
            history_export(access, source.start, source.end or "now", folder, source.interval)
        yield folder


def span_of(source: Source, archive: "Archive") -> tuple[float | None, float | None]:
    """First and last second (Unix) of the options; None for the archive's own. Raises UsageError."""
    from time import time

    from accelwatch.base.errors import UsageError
    from accelwatch.cli.history.archive_arguments import parse_time, time_text

    now = archive.description.end if source.history is not None else time()
    start = None if source.start is None else parse_time(source.start, now, "--from")
    end = None if source.end in (None, "now") else parse_time(source.end, now, "--to")
    if start is not None and end is not None and start >= end:
        raise UsageError(f"--from {source.start} is not before --to {source.end}")
    first, last = archive.description.start, archive.description.end
    if (start is not None and start > last) or (end is not None and end < first):
        complain(
            f"nothing was recorded then: the archive goes from {time_text(first)} "
            f"to {time_text(last)}"
        )
    return start, end


def complain_of_gaps(test: "Backtest") -> None:
    """Say once what cannot be judged, and what cannot be seen."""
    for text in test.unseen:
        complain(text)
    unjudged = test.unjudged
    if unjudged:
        named = ", ".join(unjudged[:_NAMED])
        more = f" and {len(unjudged) - _NAMED} more" if len(unjudged) > _NAMED else ""
        complain(
            f"{len(unjudged)} of {len(test.rules)} rules need columns that this archive "
            f"lacks and are not evaluated: {named}{more}"
        )
    if not test.context.has_jobs:
        complain("the archive has no jobs: rules of jobs are not evaluated")
