"""Settings of `history` in hub.yaml; docs/history.md."""

from typing import Annotated

import msgspec
from msgspec import Meta, field

from accelwatch.base.errors import ConfigError
from accelwatch.config.field_types import Path


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Where the fleet's samples are kept as Parquet files; off without a folder."""

    folder: Path | None = None
    # Time between two samples of a device.
    interval_s: Annotated[float, Meta(ge=1, le=3600, extra={"form": "duration"})] = field(
        default=30.0, name="interval"
    )
    # Older days are removed.
    keep_s: Annotated[float, Meta(ge=86_400, le=315_360_000, extra={"form": "duration"})] = field(
        default=90 * 86_400.0, name="keep"
    )
    # Bytes beyond which the oldest days are removed, however old they are.
    max_size_bytes: Annotated[int, Meta(ge=1 << 20, le=1 << 50)] = field(
        default=50 << 30, name="max_size"
    )


def check_history(history: History) -> None:
    """Raise ConfigError where an archive is to be written and pyarrow is not installed."""
    from importlib.util import find_spec

    if history.folder is not None and find_spec("pyarrow") is None:
        raise ConfigError("history.folder: needs pyarrow: pip install 'accelwatch[history]'")
