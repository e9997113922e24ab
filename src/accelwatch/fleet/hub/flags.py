"""Flags laid over the settings of a file."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.config.forms import split_address
from accelwatch.errors import UsageError
from accelwatch.fleet.hub.model import HubSettings


def with_flags(
    settings: HubSettings,
    *,
    targets: Sequence[str] = (),
    targets_files: Sequence[str] = (),
    listen_address: Sequence[str] = (),
    listen_any: bool = False,
    web_config: str | None = None,
    state_dir: str | None = None,
) -> HubSettings:
    """The settings with what the flags say; targets are added, all else replaced. Raises UsageError."""
    replace = msgspec.structs.replace
    files = tuple(str(Path(name).absolute()) for name in targets_files)
    followed = replace(
        settings.targets,
        static=(*settings.targets.static, *_split(targets)),
        files=(*settings.targets.files, *files),
    )
    web = settings.web
    for address in listen_address:
        try:
            split_address(address)
        except ValueError as error:
            raise UsageError(f"--web.listen-address: {error}") from error
    if listen_address:
        web = replace(web, listen_address=tuple(listen_address))
    if listen_any:
        web = replace(web, listen_any=True)
    if web_config is not None:
        web = replace(web, config_file=str(Path(web_config).absolute()))
    kept = settings.state_dir if state_dir is None else str(Path(state_dir).absolute())
    return replace(settings, targets=followed, web=web, state_dir=kept)


def _split(texts: Sequence[str]) -> list[str]:
    """Targets parted by commas outside brackets: `n[1,3],m1` are two."""
    found: list[str] = []
    for text in texts:
        depth, begin = 0, 0
        for position, character in enumerate(text):
            depth += {"[": 1, "]": -1}.get(character, 0)
            if character == "," and depth == 0:
                found.append(text[begin:position])
                begin = position + 1
        found.append(text[begin:])
    return [one.strip() for one in found if one.strip()]
