"""The options of `accelwatch check`."""

from pathlib import Path
from typing import Annotated

import msgspec

from accelwatch.base.default_addresses import AGENT_ADDRESS
from accelwatch.cli.options import shared_option
from accelwatch.cli.parameters import option


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The rules, the agent and the output format."""

    rules: Annotated[
        tuple[Path, ...],
        option("--rules", metavar="FILE", help="Rule files instead of the shipped packs."),
    ] = ()
    pack: Annotated[
        tuple[str, ...], option("-p", "--pack", metavar="NAME", help="Only this pack of rules.")
    ] = ()
    agent: Annotated[
        str,
        option("--agent", metavar="ADDRESS", help="Agent to ask: host:port, a socket, or 'none'."),
    ] = AGENT_ADDRESS
    expect: Annotated[
        int | None,
        option("--expect", metavar="N", min=0, help="Number of devices that must be present."),
    ] = None
    slurm: Annotated[
        bool, option("--slurm", help="Print only a drain reason, at most 200 ASCII characters.")
    ] = False
    verbose: Annotated[
        bool,
        option(
            "-v",
            "--verbose",
            help="Also the source of the answer, and rules that need more than one reading.",
        ),
    ] = False
    as_json: Annotated[bool, option("--json", help="As JSON.")] = False
    backend: Annotated[tuple[str, ...], shared_option("backend")] = ()
    collect: Annotated[tuple[str, ...], shared_option("collect")] = ()
    replay: Annotated[str | None, shared_option("replay")] = None
    root: Annotated[str, shared_option("root")] = "/"
    timeout: Annotated[
        str,
        option(
            "--timeout",
            metavar="DURATION",
            help="Deadline of the whole check, even if a driver hangs.",
        ),
    ] = "5s"

    @property
    def reads_here(self) -> bool:
        """Whether the command line says what is read of this machine, so that no agent can answer."""
        named = self.backend or self.collect or self.replay is not None
        return bool(named or self.root != "/")
