"""Flags of every command that reads this machine: under which root, by which backends, what more."""

from typing import Annotated

import msgspec

from accelwatch.cli.arguments import split_list
from accelwatch.cli.options import shared_option
from accelwatch.cli.plan import of_machine
from accelwatch.node.collecting import NO_GROUP, installed, opt_in
from accelwatch.node.sampler.protocol.settings import CollectSettings


class MachineOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which machine is read, and what of it."""

    backend: Annotated[list[str] | None, shared_option("backend")] = None
    collect: Annotated[list[str] | None, shared_option("collect")] = None
    root: Annotated[str, shared_option("root")] = "/"

    def over(self, settings: CollectSettings) -> CollectSettings:
        """The settings with what the flags say. Raises UsageError for what is not there."""
        backends = installed(split_list(tuple(self.backend or ())), "--backend")
        groups = opt_in(split_list(tuple(self.collect or ())))
        return of_machine(settings, self.root, backends, groups)

    @property
    def bare(self) -> bool:
        """Whether no group is wanted that is not named."""
        return NO_GROUP in split_list(tuple(self.collect or ()))

    def argv(self) -> list[str]:
        """The flags as a command line has them."""
        argv = [] if self.root == "/" else ["--root", self.root]
        for name in self.backend or ():
            argv += ["--backend", name]
        for name in self.collect or ():
            argv += ["--collect", name]
        return argv
