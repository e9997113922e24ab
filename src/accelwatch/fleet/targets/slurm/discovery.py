"""Targets from Slurm: the nodes of a cluster with their partitions and states."""

from accelwatch.base.errors import UsageError
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.cache import TargetCache
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import SlurmSd
from accelwatch.fleet.targets.slurm.listing import SlurmListing
from accelwatch.fleet.targets.slurm.nodes import (
    address_of,
    is_selected,
    labels_of,
    leaf_switches,
)
from accelwatch.fleet.targets.slurm.scontrol import Scontrol


class SlurmTargets:
    """Queries scontrol; when it fails the targets before stay. `poll` blocks and is for a thread."""

    def __init__(self, settings: SlurmSd, rules: Rules) -> None:
        self._settings = settings
        self._scontrol = Scontrol(settings)
        self._listing = SlurmListing(self._scontrol)
        self._rules = rules
        self.kept = TargetCache()

    def poll(self) -> list[Target]:
        """A target for each node that the filters let through."""
        location = self._settings.scontrol
        try:
            self.kept.update(location, self._targets())
        except (UsageError, UnicodeDecodeError) as error:
            self.kept.refuse(location, str(error))
        return self.kept.targets()

    def _targets(self) -> list[Target]:
        switches = {}
        if self._settings.switch_label:
            switches = leaf_switches(
                self._scontrol.printed("--oneliner", "show", "topology").decode()
            )
        targets: list[Target] = []
        for node in self._listing.nodes():
            if is_selected(node, self._settings):
                labels = labels_of(node, self._settings, switches)
                targets += self._rules.targets([address_of(node, self._settings)], labels)
        return targets
