"""A journal that several hubs share: what each says of itself there, and how the journal stands."""

import msgspec


class HubEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a hub says of itself; only its own process writes it."""

    # The host and its state_dir: the same after a restart.
    id: str
    # The host's name.
    name: str
    # `host:port` of its API; empty where it listens on a Unix socket only.
    address: str
    version: str
    # Of its rule files: SHA-256 in hexadecimal; empty where it has none or cannot read them.
    rules_digest: str
    rules: int
    # The token of its lease; 0 while it waits.
    token: int = 0
    # Seconds that its copy of the journal was behind when this was written.
    late_s: float = 0.0
    # Of a leader: why a fail-over may lose a commit, so that `auto` needs approval; empty if none can.
    loss_risk: str = ""


class ListedHub(msgspec.Struct, frozen=True, kw_only=True):
    """A hub, and how long ago it has said so by the database's clock."""

    entry: HubEntry
    # Unix seconds of the database's clock.
    last_contact: float
    age_s: float


class SharedJournal(msgspec.Struct, frozen=True, kw_only=True):
    """How a shared journal stands, at one moment of the database."""

    # Of the latest lease; 0 before the first.
    token: int
    # The host that got it, and when: Unix seconds of the database's clock.
    holder: str
    since: float
    hubs: tuple[ListedHub, ...]

    @property
    def leader(self) -> ListedHub | None:
        """The hub with the latest lease; None where it has not said so."""
        if not self.token:
            return None
        return next((hub for hub in self.hubs if hub.entry.token == self.token), None)
