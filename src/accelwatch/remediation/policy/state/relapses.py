"""How often in a row a node was quarantined again soon after its release. Pure."""

import msgspec

# After so many relapses in a row only a person gives the node back.
MOST = 3


class Relapses(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one node."""

    # Unix seconds of its last release; None once it was quarantined again.
    released: float | None = None
    # Whether its score has this relapse already: it has failed on probation.
    scored: bool = False
    # Relapses in a row.
    count: int = 0


def released(relapses: Relapses | None, now: float) -> Relapses:
    """The node was given back."""
    return Relapses(released=now, count=0 if relapses is None else relapses.count)


def scored(relapses: Relapses | None) -> Relapses | None:
    """The node has failed again, which its score has from now on."""
    return None if relapses is None else msgspec.structs.replace(relapses, scored=True)


def relapsed(relapses: Relapses | None, now: float, within_s: float) -> bool:
    """Whether a quarantine now is a relapse, not longer than `within_s` after the release."""
    return (
        relapses is not None
        and relapses.released is not None
        and now - relapses.released < within_s
    )


def quarantined(relapses: Relapses | None, now: float, within_s: float) -> Relapses | None:
    """A rule quarantines the node; None where nothing is to be remembered."""
    if relapses is None or relapses.released is None:
        return relapses
    return Relapses(count=relapses.count + 1) if relapsed(relapses, now, within_s) else None


def is_over(relapses: Relapses, now: float, within_s: float) -> bool:
    """Whether a node that was given back has been well for so long that nothing counts any more."""
    return relapses.released is not None and not relapsed(relapses, now, within_s)
