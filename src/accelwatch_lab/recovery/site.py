"""The job and its site: sizes and times, in seconds, with where each default is from."""

import msgspec

MINUTE_S = 60.0


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """What differs from site to site."""

    # arXiv:2605.09370v1: 60 of 63 nodes in one job, 8 devices each.
    nodes: int = 60
    devices: int = 8
    # From the start of an attempt to its first productive step; the same source, mean of restarts.
    load_s: float = 33 * MINUTE_S
    # How long a save holds the job up; an assumption between 1 and 10 min.
    save_s: float = 4 * MINUTE_S
    # Between two saves now; None: as advised.
    save_interval_s: float | None = None
    # How long a broken node is away: mean of 535 outages of 400 servers (InfiniteHBD's trace).
    repair_s: float = 6 * 86_400.0
    # Until a person has a suspect, mean. Minder (arXiv:2411.01791): over half an hour, days at worst.
    triage_s: float = 30 * MINUTE_S


# A collective's time-out, after which a job without any detection ends.
TIME_OUT_S = (10 * MINUTE_S, 30 * MINUTE_S)
# Of starts that fail, the share that does within so long (Aegis).
EARLY_DEATHS, EARLY_S = 0.73, 10 * MINUTE_S
# From the request to processes that run: 12.6-13.1 s for a session on idle nodes (Backend.AI 26.9.6).
START_S = 13.0
# A test of nodes before a start (Aegis): the full one, and the light one.
FULL_TEST_S, LIGHT_TEST_S = 10 * MINUTE_S, 1 * MINUTE_S
# A chain is judged by whether the job runs again within so long.
CHAIN_S = 60 * MINUTE_S
