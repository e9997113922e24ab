"""Targets that flags name, added to those of a file."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from accelwatch.fleet.hub.model import HubSettings, checked
from accelwatch.fleet.targets.settings import DnsSd, HttpSd, KubernetesSd, SlurmSd


def with_targets(
    settings: HubSettings,
    *,
    targets: Sequence[str] = (),
    targets_files: Sequence[str] = (),
    http: Sequence[str] = (),
    dns: Sequence[str] = (),
    kubernetes: str | None = None,
    slurm: bool = False,
    ssh: Sequence[str] = (),
    ssh_config: str | None = None,
) -> HubSettings:
    """The settings with more targets: hosts, files, URLs, names, pods by label, Slurm's nodes, ssh's.

    `ssh_config` is the file that ssh reads instead of its own.

    Raises ConfigError.
    """
    followed = settings.targets
    files = tuple(str(Path(name).absolute()) for name in targets_files)
    clusters = () if kubernetes is None else (KubernetesSd(label_selector=kubernetes),)
    more = msgspec.structs.replace(
        followed,
        static=(*followed.static, *_split(targets)),
        files=(*followed.files, *files),
        http=(*followed.http, *(HttpSd(url=url) for url in http)),
        dns=(*followed.dns, *(DnsSd(names=(name,)) for name in dns)),
        kubernetes=(*followed.kubernetes, *clusters),
        slurm=(*followed.slurm, *((SlurmSd(),) if slurm else ())),
        ssh=(*followed.ssh, *_split(ssh)),
    )
    ssh_settings = settings.ssh
    if ssh_config is not None:
        ssh_settings = msgspec.structs.replace(
            ssh_settings, config_file=str(Path(ssh_config).absolute())
        )
    return checked(msgspec.structs.replace(settings, targets=more, ssh=ssh_settings))


def _split(texts: Sequence[str]) -> list[str]:
    """Targets parted by commas outside brackets: `n[1,3],m1` are two."""
    pieces: list[str] = []
    for text in texts:
        depth, start = 0, 0
        for position, character in enumerate(text):
            depth += {"[": 1, "]": -1}.get(character, 0)
            if character == "," and depth == 0:
                pieces.append(text[start:position])
                start = position + 1
        pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]
