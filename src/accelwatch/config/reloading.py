"""What a reloaded configuration removes: the loss of all is refused, of a section logged."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from accelwatch.base.errors import ConfigError
from accelwatch.config.alerts import Alerts
from accelwatch.config.layers import Effective
from accelwatch.config.model import RuleSettings
from accelwatch.config.otlp import Otlp


class Sections(Protocol):
    """The settings of an agent or a hub, whose loss nobody would notice on a quiet day."""

    @property
    def rules(self) -> RuleSettings:
        """Which rules are in force."""

    @property
    def alerts(self) -> Alerts:
        """Who is notified."""

    @property
    def otlp(self) -> Otlp:
        """Where metrics are pushed to."""


# A section, what its loss means, and whether it configures something.
_LOSSES: tuple[tuple[str, str, Callable[[Sections], object]], ...] = (
    ("rules", "no rule is evaluated any more", lambda sections: sections.rules.any),
    (
        "alerts",
        "no notification is sent any more",
        lambda sections: sections.alerts.sinks or sections.alerts.dead_man.url_file,
    ),
    ("otlp", "nothing is pushed any more", lambda sections: sections.otlp.endpoint),
)


def check_filled(before: object, after: Effective[Any], file: Path | None) -> None:
    """Raise ConfigError when the settings `before` are gone because nothing stands in the file.

    A file is empty for a moment while a careless tool writes it, and stays so when the disk is full.
    `file` is the one that was read before: it may not be there for a moment either.
    """
    if after.filled or after.settings == before:
        return
    what = "the file is not there any more" if after.file is None else "the file sets nothing"
    raise ConfigError(f"{after.file or file}: {what}; write it again, or restart to run without it")


def losses(before: Sections, after: Sections) -> Iterator[str]:
    """What is worth a warning: sections that configured something and do not any more."""
    for name, meaning, is_used in _LOSSES:
        if is_used(before) and not is_used(after):
            yield f"the configuration has no {name} any more: {meaning}"
