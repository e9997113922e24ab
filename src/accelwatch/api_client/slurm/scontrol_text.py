"""Lines of Slurm's `scontrol --oneliner show ...`: `Key=value` after `Key=value`. Pure."""

import re
from typing import NamedTuple

_PAIR = re.compile(r"(?:^| )([A-Z][A-Za-z_:/]*)=(.*?)(?= [A-Z][A-Za-z_:/]*=|$)")
_SUFFIXES = {"*": "NOT_RESPONDING", "@": "REBOOT_ISSUED", "^": "REBOOT_ISSUED"}
_FLAG = re.compile(r"[A-Z_]+")
_REASON = re.compile(r" Reason=(.*?) \[([^\s\[\]@]+)@([^\s\]]+)\]")
_BARE_REASON = re.compile(r" Reason=(.*?)(?= (?:Comment|Extra|InstanceId)=|$)")
# Before what Slurm adds to a reason that was blanked.
_BLANK = re.compile(r"^ +(: )?")


class Reason(NamedTuple):
    """Why a node was drained, and who did it; all empty where it was not."""

    text: str = ""
    set_by: str = ""
    # As scontrol prints times.
    set_at: str = ""


def without_reason(line: str) -> tuple[Reason, str]:
    """The reason of a node's line, and the line without it.

    A reason is written by people and programs and may hold anything, other keys too: it ends at its
    `[user@time]`, and is cut out before the other keys are searched.
    """
    signed = _REASON.search(line)
    match = signed or _BARE_REASON.search(line)
    if match is None:
        return Reason(), line
    remaining = f"{line[: match.start()]}{line[match.end() :]}"
    text = _BLANK.sub("", match[1])
    return (Reason(text, signed[2], signed[3]) if signed else Reason(text)), remaining


def pairs_of(line: str) -> dict[str, str]:
    """The first of each key: those at the end may stand in a user's reason or comment."""
    return {key: value.strip() for key, value in reversed(_PAIR.findall(line))}


def states_of(text: str) -> tuple[str, ...]:
    """Base state, then flags, of `IDLE+DRAIN`, `DOWN*`, `IDLE+DRAIN+NOT_RESPONDING`, `MIXED@`.

    The signs that sinfo(1) puts behind a state are flags by their names: `*` is NOT_RESPONDING.
    """
    flags: list[str] = []
    for token in text.upper().split("+"):
        flags += _FLAG.findall(token)[:1]
        flags += [name for sign, name in _SUFFIXES.items() if sign in token]
    return tuple(dict.fromkeys(flags))
