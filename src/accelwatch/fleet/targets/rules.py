"""What becomes of the labels that discovery gives, before a target is made of them. Pure."""

from collections.abc import Iterable, Mapping

import msgspec

from accelwatch.fleet.scrape_settings import Credentials
from accelwatch.fleet.ssh.destination import ssh_targets
from accelwatch.fleet.target import (
    NODE_LABEL,
    SCHEME_LABEL,
    SSH,
    Target,
    checked_labels,
    targets_of,
)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How the targets of every discovery are made."""

    scheme: str = "http"
    # Label to the name it gets; a label that begins with `__` is kept this way only.
    rename: dict[str, str] = {}
    # What the targets are shown: those of the section that finds them.
    credentials: Credentials = Credentials()
    # The labels that stay, by their new names; empty for all.
    keep: tuple[str, ...] = ()
    # Whether `__scheme__: ssh` is understood: only who writes files here may say where we log in.
    may_ssh: bool = False

    def targets(self, texts: Iterable[str], labels: Mapping[str, str]) -> list[Target]:
        """Targets of addresses with host ranges. Raises UsageError."""
        kept = self._labels(checked_labels(labels))
        if self.may_ssh and kept.get(SCHEME_LABEL) == SSH:
            return ssh_targets(texts, kept)
        return targets_of(texts, kept, self.scheme, self.credentials)

    def _labels(self, discovered: Mapping[str, str]) -> dict[str, str]:
        labels = {name: value for name, value in discovered.items() if name not in self.rename}
        for old, new in self.rename.items():
            if discovered.get(old):
                labels[new] = discovered[old]
        if not self.keep:
            return labels
        return {
            name: value
            for name, value in labels.items()
            if name in self.keep or name == NODE_LABEL or name.startswith("__")
        }
