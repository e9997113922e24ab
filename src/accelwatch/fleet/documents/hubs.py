"""The hubs that share a journal, as the API answers: the structs. Times are RFC 3339."""

import msgspec


class HubDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One hub that was seen in the database."""

    name: str
    # `host:port` of its API; empty where it listens on a Unix socket only.
    address: str
    version: str
    leads: bool
    # Whether it is the hub that answers.
    is_this: bool
    # When it was last seen in the database, by the database's clock, and how long ago.
    last_contact: str
    age_s: float
    # Seconds that its copy of the journal was behind then.
    late_s: float
    # SHA-256 of its rule files; empty where it has none, or none that can be loaded.
    rules_digest: str
    rules: int
    # Whether its rule files are those of the hub that leads; null where that is not known.
    has_rules_of_leader: bool | None


class HubsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Which hub leads, and how the journal that they share is."""

    # Whether this hub evaluates rules and notifies.
    leads: bool
    # Whether it begins remedies now, by its configuration and its lease.
    acts: bool
    # Why it does not lead; empty while it does.
    waiting: str
    # Where the journal is kept.
    journal: str
    # Whether several hubs can share it; of a file only this hub has it.
    shared: bool
    # Name of the hub that leads and since when, by the database's clock; null while none does.
    leader: str | None = None
    since: str | None = None
    # (timeline << 32) + counter of the latest lease; null without a database that was read.
    token: int | None = None
    timeline: int | None = None
    # Whether the database answered the last time; null without one.
    database_reachable: bool | None = None
    # Seconds since all that is in the journal was read here; null before the first time.
    late_s: float | None = None
    # Whether rules in `auto` act without approval; null while no hub leads or no database answers.
    auto_allowed: bool | None = None
    # Why they do not.
    auto_refused: str = ""
    # What is wrong: the database, a list that cannot be written, hubs with other rule files.
    problems: tuple[str, ...] = ()
    hubs: tuple[HubDocument, ...] = ()
