"""The options of `accelwatch check`, as a table: schedulers call it often, and typer takes its time."""

from pathlib import Path

import msgspec

from accelwatch.base.default_addresses import AGENT_ADDRESS
from accelwatch.cli.arguments import OPTIONS, Option, values_of

_OF_MACHINE = tuple(
    option for option in OPTIONS if option.name in ("backend", "collect", "replay", "root")
)
"""Which machine is read, and what of it, as in every command that reads one."""

CHECK_OPTIONS: tuple[Option, ...] = (
    Option(name="rules", flags=("--rules",), kind=Path, default=(), many=True, metavar="FILE",
           help="Rule files instead of the shipped packs."),
    Option(name="pack", flags=("-p", "--pack"), kind=str, default=(), many=True, metavar="NAME",
           help="Only this pack of rules."),
    Option(name="agent", flags=("--agent",), kind=str, default=AGENT_ADDRESS, metavar="ADDRESS",
           help="Agent to ask: host:port, a socket, or 'none'."),
    Option(name="expect", flags=("--expect",), kind=int, default=None, metavar="N", least=0,
           help="Number of devices that must be present."),
    Option(name="slurm", flags=("--slurm",), kind=bool, default=False,
           help="Print only a drain reason, at most 200 ASCII characters."),
    Option(name="verbose", flags=("-v", "--verbose"), kind=bool, default=False,
           help="Also where it looked, and which rules need more than one reading."),
    Option(name="as_json", flags=("--json",), kind=bool, default=False, help="As JSON."),
    *_OF_MACHINE,
    Option(name="timeout", flags=("--timeout",), kind=str, default="5s", metavar="DURATION",
           help="Deadline of the whole check, even if a driver hangs."),
)  # fmt: skip
_BY_FLAG = {flag: option for option in CHECK_OPTIONS for flag in option.flags}


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """By which rules, whom to ask, and in which form it is told; one field an option of the table."""

    rules: tuple[Path, ...] = ()
    pack: tuple[str, ...] = ()
    agent: str = AGENT_ADDRESS
    expect: int | None = None
    slurm: bool = False
    verbose: bool = False
    as_json: bool = False
    backend: tuple[str, ...] = ()
    collect: tuple[str, ...] = ()
    replay: str | None = None
    root: str = "/"
    timeout: str = "5s"

    @property
    def reads_here(self) -> bool:
        """Whether the command line says what is read of this machine, so that no agent can answer."""
        named = self.backend or self.collect or self.replay is not None
        return bool(named or self.root != "/")


def parse(tokens: list[str]) -> CheckOptions | None:
    """What the words behind `check` say; None when typer should look: help and mistakes."""
    values = values_of(tokens, _BY_FLAG)
    return None if values is None else CheckOptions(**values)
