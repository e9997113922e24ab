"""Where a reading came from, as far as anybody can vouch for it: what a rule may act on goes by it."""

from collections.abc import Iterable
from enum import StrEnum


class Provenance(StrEnum):
    """The class of a reading or of evidence, the one that is vouched for best first."""

    # Our agent, read over TLS whose certificate was verified; or read by the agent itself.
    AUTHENTICATED = "authenticated"
    # Our agent over HTTP, or over TLS whose certificate was not verified.
    PLAIN = "plain"
    # Another's exporter, however it is reached.
    EXPORTER = "exporter"
    # A Prometheus-compatible store, or an archive: whoever may write there can say it.
    STORE = "store"
    # Pushed to a hub from outside (`POST /v1/evidence`).
    PUSHED = "pushed"
    # Written by a version that did not record it.
    UNKNOWN = "unknown"


_TEXTS = {
    Provenance.AUTHENTICATED: "our agent, over verified TLS or by itself",
    Provenance.PLAIN: "unauthenticated (plain HTTP): could be tampered with",
    Provenance.EXPORTER: "a third-party exporter",
    Provenance.STORE: "a store: anyone who may write to it can forge this",
    Provenance.PUSHED: "pushed to the hub by a third party",
    Provenance.UNKNOWN: "not written down",
}
ORDER: tuple[Provenance, ...] = tuple(Provenance)
# 0 for what is vouched for best.
RANK = {provenance: rank for rank, provenance in enumerate(ORDER)}


def weakest(classes: Iterable[Provenance]) -> Provenance:
    """The class of what needs all of these; what needs nothing can be forged by nobody."""
    return max(classes, key=RANK.__getitem__, default=Provenance.AUTHENTICATED)


def strongest(classes: Iterable[Provenance]) -> Provenance:
    """The class of what needs one of these, at least one of which is given. Raises ValueError."""
    return min(classes, key=RANK.__getitem__)


def provenance_text(name: str) -> str:
    """A class for people; a word of a newer version as it is."""
    return _TEXTS[Provenance(name)] if name in set(Provenance) else name
