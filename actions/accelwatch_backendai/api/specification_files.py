"""A file in which an operator says how sessions were made; it counts before the manager's word."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from accelwatch.base.errors import ConfigError
from accelwatch.system.located_yaml.document import read
from accelwatch.system.located_yaml.nodes import Location

_Amount = Annotated[str | int | float, Meta(description="of a slot, such as 8 or 16g")]


class MountOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a folder is mounted."""

    type: str = "bind"
    # `ro`, `rw` or `wd`; empty for what its user may do with it anyway.
    permission: str = ""


class WrittenSpecification(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says; None is what it leaves to the manager's word, or to the manager's default."""

    image: str | None = None
    architecture: str | None = None
    resource_group: str | None = None
    cluster_size: Annotated[int, Meta(ge=1)] | None = None
    # single-node or multi-node.
    cluster_mode: str | None = None
    startup_command: str | None = None
    # As text.
    bootstrap_script: str | None = None
    # Seconds, or a number with w, d, h, m or s.
    batch_timeout: str | int | None = None
    callback_url: str | None = None
    priority: int | None = None
    # Texts by their names.
    environ: Mapping[str, object] | None = None
    # Names of folders.
    mounts: list[str] | None = None
    # Where in the session, by the name of the folder.
    mount_map: dict[str, str] | None = None
    mount_options: dict[str, MountOptions] | None = None
    # Of each kernel.
    resources: dict[str, _Amount] | None = None
    resource_opts: dict[str, str | int | bool] | None = None
    preopen_ports: list[int] | None = None

    def __repr__(self) -> str:
        """Without what a user keeps secret."""
        return "WrittenSpecification()"


def read_specification(path: Path) -> WrittenSpecification:
    """What a file says, YAML or JSON. Raises ConfigError with file, line, key and mend."""
    document = read(path)
    data = {} if document.data is None else document.data
    written = document.struct(data, WrittenSpecification, ())
    if written is not None:
        for location, text in _invalid_values(written):
            document.complain(location, text)
    document.refuse()
    if written is None:  # refused above
        raise ConfigError(f"{path}: no mapping")
    return written


def _invalid_values(written: WrittenSpecification) -> list[tuple[Location, str]]:
    """What the manager would refuse when a session has ended already."""
    invalid: list[tuple[Location, str]] = []
    if written.cluster_mode not in (None, "single-node", "multi-node"):
        invalid.append((("cluster_mode",), "one of single-node, multi-node"))
    for name, value in (written.environ or {}).items():
        if not isinstance(value, str):
            invalid.append((("environ", name), "expected a text; put it in quotes"))
    for key, mapping in (
        ("mount_map", written.mount_map),
        ("mount_options", written.mount_options),
    ):
        for folder in mapping or {}:
            if folder not in (written.mounts or ()):
                invalid.append(((key, folder), "a folder that is not in mounts; add it there"))
    if written.batch_timeout is not None and not _is_duration(str(written.batch_timeout)):
        text = "expected seconds, or a number with w, d, h, m or s, such as 7d"
        invalid.append((("batch_timeout",), text))
    return invalid


def _is_duration(text: str) -> bool:
    number = text[:-1] if text[-1:] in ("w", "d", "h", "m", "s") else text
    return number.isascii() and number.isdigit() and int(number) > 0


def encoded_script(text: str) -> str:
    """A bootstrap script as the API has it."""
    return base64.b64encode(text.encode()).decode()
