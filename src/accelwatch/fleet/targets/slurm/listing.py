"""The nodes of a Slurm cluster as scontrol lists them: as JSON where it can, else as text."""

from accelwatch.base.errors import UsageError
from accelwatch.fleet.targets.slurm.nodes import SlurmNode, nodes_of_json, nodes_of_text
from accelwatch.fleet.targets.slurm.scontrol import Scontrol, why

_NO_JSON = ("unrecognized option", "invalid option", "Unable to find plugin")


class SlurmListing:
    """Queries scontrol; it blocks and is for a thread."""

    def __init__(self, scontrol: Scontrol) -> None:
        self._scontrol = scontrol
        self._speaks_json = True

    def nodes(self) -> list[SlurmNode]:
        """All of them. Raises UsageError and UnicodeDecodeError."""
        if self._speaks_json:
            result = self._scontrol.run("--all", "show", "nodes", "--json")
            if result.ok:
                return nodes_of_json(result.output)
            complaint = result.errors.decode("utf-8", "replace")
            if result.failure or not any(pattern in complaint for pattern in _NO_JSON):
                raise UsageError(why(result))
            self._speaks_json = False  # an old one, or built without a JSON library
        return nodes_of_text(
            self._scontrol.printed("--all", "--oneliner", "show", "nodes").decode()
        )
