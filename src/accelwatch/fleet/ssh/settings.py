"""How nodes are reached by ssh (`ssh` of hub.yaml); who is reached so stands in `targets.ssh`."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from accelwatch.config.field_types import Long, Path, Short


class Ssh(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds. Keys, users and jump hosts are the business of ssh's own configuration."""

    # `auto` streams from hosts that have accelwatch; `commands` runs vendors' commands there too.
    mode: Literal["auto", "commands"] = "auto"
    # Instead of the user's and the system's: `ssh -F`.
    config_file: Path | None = None
    # How often the vendors' commands are run; less often where they are slow.
    interval_s: Long = field(default=5.0, name="interval")
    # For reaching the host, and as much again for logging in.
    connect_timeout_s: Short = field(default=10.0, name="connect_timeout")
    # Connections that are being opened at one time.
    connecting_at_once: Annotated[int, Meta(ge=1, le=1024)] = 16
