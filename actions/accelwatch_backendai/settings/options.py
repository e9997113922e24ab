"""Options of the action."""

from pathlib import PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta

from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.power_switch import check_power
from accelwatch.api_client.backendai.server import ServerOptions
from accelwatch.base.errors import ConfigError
from accelwatch_backendai.settings import checkpoint_patterns
from accelwatch_backendai.settings.session_rules import SessionRule
from accelwatch_backendai.settings.specification_rules import SpecificationRule

_Argv = Annotated[list[str], Meta(max_length=64)]
# Names of resource groups: VARCHAR(64) of the manager's table.
_Group = Annotated[str, Meta(min_length=1, max_length=64)]


class GroupOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A resource group whose sessions the hub manages."""

    # The resource group in which its idle spares are.
    spares: _Group


class BackendAiOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One manager, and where its spares are."""

    # Where the manager is, and by which key we are known to it.
    server: ServerOptions
    # By the name of a resource group.
    groups: dict[_Group, GroupOptions] = {}
    # What becomes of the sessions of a quarantined agent; the first rule that one fits counts.
    # Without one, batch sessions are moved and all others are left to their users.
    sessions: list[SessionRule] = []
    # How sessions are created anew, as far as the manager does not show it; the first that fits counts.
    specifications: list[SpecificationRule] = []
    # Seconds after which a session with a lost agent is ended by force, once its node is fenced.
    force_after_s: Annotated[float, Meta(ge=0.0, le=86400.0)] = 60.0
    # Where the newest checkpoint of a session is looked for.
    checkpoints: CheckpointOptions | None = None
    # Command that powers a node off; `{node}` stands for the id of its agent.
    power_off: _Argv = []
    # Command that ends with 0 when a node has no power, and with 1 when it has.
    power_state: _Argv = []
    power_timeout_s: Annotated[float, Meta(gt=0.0, le=600.0)] = 60.0

    def __post_init__(self) -> None:
        checkpoint_patterns.check(self.checkpoints)
        for name, group in self.groups.items():
            if group.spares in self.groups:
                raise ConfigError(
                    f"groups.{name}.spares: {group.spares} is a group with spares of its own; expected "
                    "one in which no sessions run"
                )
        for key, argv in (("power_off", self.power_off), ("power_state", self.power_state)):
            if argv and not PurePosixPath(argv[0]).is_absolute():
                raise ConfigError(f"{key}: expected a list that starts with an absolute path")
        check_power(self.power_off, self.power_state)

    @property
    def spare_groups(self) -> frozenset[str]:
        """The resource groups in which spares are idle."""
        return frozenset(group.spares for group in self.groups.values())
