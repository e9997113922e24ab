"""How many nodes that are given back fail again within 7 days, and what it costs to have fewer of them.

    python benchmarks/remediation/relapse_replay.py TRACE [--passive 10m] [--relapse-within 7d]

TRACE is InfiniteHBD's fault_trace.json, plain or gzip, or another one of its form. Each outage of a
node is played through the state machine of remedies: a rule fires where it begins and resolves where it
ends, and the policy decides when the node is taken out and given back. What fails while it is still held
has not failed in service. Nothing else that the trace has is taken to be cured: neither by holding a
node, nor by the repair that a person does (`--repair`, 6d) of one that stays out. Without the options, a
row for each choice, ten minutes in all.
"""

import argparse
import json
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from accelwatch.base.durations import seconds_with_unit
from accelwatch_lab.recovery.outages import OutageTrace, outages_of
from support.remediation.outage_replay import replayed

WITHIN_DAYS = 7.0
GOAL = 0.1
PASSIVE = ("0s", "10m", "6h", "12h", "24h", "48h")
RELAPSE_WITHIN = ("1h", "7d")
PROBATION = ("0s",)  # a node on probation works: it has relapsed if it fails then


def row(
    trace: OutageTrace, passive: str, within: str, probation: str, repair: str
) -> dict[str, object]:
    """What is printed of one choice."""
    outcome = replayed(
        trace.by_node,
        trace.days,
        passive_s=seconds_with_unit(passive),
        relapse_s=seconds_with_unit(within),
        probation_s=seconds_with_unit(probation),
        repair_s=seconds_with_unit(repair),
        within_days=WITHIN_DAYS,
    )
    return {
        "passive": passive,
        "relapse_within": within,
        "probation": probation,
        "returns": outcome.returns,
        "fail_again": outcome.relapses,
        "share": round(outcome.share, 3),
        "held_node_days": round(outcome.held_days, 1),
        "of_all_node_days": round(outcome.held_days / (trace.servers * trace.days), 5),
        "kept_for_a_person": outcome.repairs,
        "goal_reached": outcome.share <= GOAL,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--servers", type=int, default=400)
    parser.add_argument("--passive", action="append")
    parser.add_argument("--relapse-within", action="append")
    parser.add_argument("--probation", action="append")
    parser.add_argument("--repair", default="6d")
    given = parser.parse_args()
    logging.disable()
    trace = outages_of(given.trace.read_bytes(), given.trace.name, given.servers)
    relapses = trace.relapses(WITHIN_DAYS)
    raw = {
        "outages": trace.count,
        "fail_again": relapses,
        "share": round(relapses / trace.count, 3),
    }
    print(
        json.dumps({"trace": trace.name, "node_days_out": round(trace.node_days), **raw}),
        flush=True,
    )
    for passive in given.passive or PASSIVE:
        for within in given.relapse_within or RELAPSE_WITHIN:
            for probation in given.probation or PROBATION:
                found = row(trace, passive, within, probation, given.repair)
                print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
