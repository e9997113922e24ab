"""Flags of every command that reads this machine: under which root, by which backends, what more."""

from typing import Annotated

import msgspec

from accelwatch.cli.arguments import split_list
from accelwatch.cli.options import row
from accelwatch.cli.plan import root_folder
from accelwatch.collecting import installed, opt_in
from accelwatch.sampler.settings import CollectSettings

Root = Annotated[str, row("root")]
Backends = Annotated[list[str] | None, row("backend")]
Groups = Annotated[list[str] | None, row("collect")]


def collecting(
    settings: CollectSettings, root: str, backends: list[str] | None, groups: list[str] | None
) -> CollectSettings:
    """The settings with what the flags say. Raises UsageError for what is not there."""
    asked = opt_in(split_list(tuple(groups or ())))
    return msgspec.structs.replace(
        settings,
        without=settings.without - {"host"} if "host" in asked else settings.without,
        root=root_folder(root),
        backends=installed(split_list(tuple(backends or ())), "--backend") or settings.backends,
        groups=settings.groups | asked,
    )
