"""Lines of Slurm's `scontrol --oneliner show ...`: `Key=value` after `Key=value`. Pure."""

import re

_PAIR = re.compile(r"(?:^| )([A-Z][A-Za-z_:/]*)=(.*?)(?= [A-Z][A-Za-z_:/]*=|$)")
_SUFFIXES = {"*": "NOT_RESPONDING", "@": "REBOOT_ISSUED", "^": "REBOOT_ISSUED"}
_FLAG = re.compile(r"[A-Z_]+")


def pairs_of(line: str) -> dict[str, str]:
    """The first of each key: those at the end may stand in a reason or comment that somebody wrote."""
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
