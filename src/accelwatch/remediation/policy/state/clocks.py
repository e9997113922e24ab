"""How long the stages of a remedy wait, where no setting says so."""

# How long a node must have been silent, while its scheduler's daemon is silent too, before
# it counts as not answering.
UNREACHABLE_S = 10.0
# How old the status of a node may be for a decision.
FRESH_S = 60.0
# The longest gap between two statuses of a node in a row of good ones.
GAP_S = 60.0
# After which a person is notified that the state of a suspect node is unknown.
BLIND_S = 600.0
BLIND_AGAIN_S = 3600.0
# How long a rule has to clear after a remedy, before the next one is tried.
SETTLE_S = 600.0
LONGER = 3.0
# Of what has failed often the passive time is so many times as long, and at least so long.
LONG_S = 1800.0
# Before what failed is tried again; twice as long after every further failure.
RETRY_S = 900.0
MOST_FAILURES = 4
# How long a person's no holds that names no end.
DENIED_S = 24 * 3600.0

# How long evidence may take to come after a job has died, before a person is notified.
DEATH_SETTLES_S = 120.0
# How long a job that has died waits for its restart, before that is up to people.
REVIVAL_S = 3600.0

# How long a move may wait for a silent node that nothing named before a person is notified.
HANGS_S = 60.0

# After a spare that could not be drawn, before another request.
SPARE_AGAIN_S = 60.0

# How long a scheduler may need to find out that its daemon on a node is silent.
PROBE_S = 30.0
# Between two probes of a node at least, however often it falls silent.
PROBE_AGAIN_S = 60.0

# For how long a scheduler may not answer before a person is notified of each node that waits for it.
SCHEDULER_S = 3600.0
# By how much longer a task with its own deadline may last before a person is notified.
OVERRUN_S = 60.0

QUARANTINE_S = 600.0
RELEASE_S = 600.0
FENCE_S = 1800.0
JOB_S = 1800.0
SWAP_S = 900.0
REMEDY_S = 3600.0
TEST_S = 3600.0
SERVICE_S = 3600.0
# Until then an intent makes sense.
RESTORE_S = 7 * 86_400.0
