"""Whether a database keeps what it has committed when it fails over: if its standbys are synchronous."""

from typing import NamedTuple

# One row, with the columns of `Replication`; walsenders that copy the database or send its log
# elsewhere are no standbys.
REPLICATION = (
    "SELECT current_setting('synchronous_standby_names'), current_setting('synchronous_commit'),"
    " (SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'physical' AND NOT temporary),"
    " count(*), count(*) FILTER (WHERE sync_state IS NULL),"
    " coalesce(string_agg(DISTINCT application_name, ', ') FILTER (WHERE sync_state = 'async'), '')"
    " FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'"
    " AND application_name IS DISTINCT FROM 'pg_basebackup'"
    " AND application_name IS DISTINCT FROM 'pg_receivewal'"
    " AND pid NOT IN (SELECT active_pid FROM pg_replication_slots"
    " WHERE slot_type = 'logical' AND active_pid IS NOT NULL)"
)
# A commit of theirs waits until a synchronous standby has it on its disk.
_SYNCHRONOUS = ("on", "remote_apply")


class Replication(NamedTuple):
    """What a primary reports of its standbys."""

    synchronous_standby_names: str
    synchronous_commit: str
    # Kept for a standby, connected or not.
    slots: int
    # Connected now.
    standbys: int
    # Standbys of which it hides whether they are synchronous.
    hidden: int
    # The names of those that are not.
    asynchronous: str

    @property
    def is_replicated(self) -> bool:
        """Whether another server has a part of what is committed."""
        return bool(self.synchronous_standby_names or self.slots or self.standbys)


def loss_risk(database: str, replication: Replication, *, is_replicated: bool) -> str:
    """Why a fail-over may lose what was committed; empty where it does not.

    `is_replicated`: there is a standby, whether or not it is connected now.
    """
    if not is_replicated:
        return ""
    commit = replication.synchronous_commit
    if not replication.synchronous_standby_names:
        why = "is replicated asynchronously; set synchronous_standby_names there"
    elif commit not in _SYNCHRONOUS:
        why = f"commits with synchronous_commit = {commit}; let it be on"
    elif replication.hidden:
        why = "does not tell which standbys are synchronous; GRANT pg_read_all_stats to the user"
    elif replication.asynchronous:
        why = (
            f"has asynchronous standbys ({replication.asynchronous});"
            " name them in synchronous_standby_names there"
        )
    else:
        return ""
    return f"{database} {why}"
