"""Reads a configuration as the agent does."""

from collections.abc import Callable, Mapping
from pathlib import Path

from accelwatch.config.layers import Effective, Flag, effective
from accelwatch.config.model import Settings

Write = Callable[[str | bytes], Path]


def load(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Flag] | None = None,
) -> Effective[Settings]:
    return effective(path, environ or {}, flags)
