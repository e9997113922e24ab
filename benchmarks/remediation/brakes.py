"""How fast a STOP and a yes bind: from the word to the last effect, and from the word to the drain.

`brakes.py [PART ...] [--runs N] [--nodes N]`; the parts are `file`, `command` and `yes`, all of them
without a name. A hub as in `faults_at_once.py` over a real slurmctld whose nodes have no slurmd. Each
call of scontrol, and each line of one that does many, takes 0.3 s longer than it would. For `file` and
`command` 40 nodes go bad at once and everything is stopped while most of them wait: what counts is
when the last line that drains a node is sent. For `yes` one node waits for approval, and what counts is
when Slurm has drained it; there the calls are as fast as they are.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from pathlib import Path

import msgspec

from accelwatch.action.contract import ActionContext
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch_slurm import SlurmAction
from drain_watcher import DrainWatcher
from lifted_limits import LIFTED, MANY, without_storms
from measured_hub import RULES, Hub, acting_by
from support.processes.shell_scripts import script
from support.processes.terminated import end_children_when_terminated
from support.slurm.controller import Slurm, slurm_of_many
from waits import until

CALL_S = 0.3
GOALS = {"STOP -> last effect": 1.0, "yes -> DRAIN": 1.0}
# After a STOP it is watched for so long whether anything begins.
LASTS_S = 3.0
SLOW = f"""
sent() {{ echo "$(date +%s.%N) $*" >> {{log}}; sleep {CALL_S}; }}
if [ $# -gt 0 ]; then
  sent "$*"
  exec /usr/bin/scontrol "$@"
fi
while IFS= read -r line; do
  echo "scontrol: $line"
  [ "$line" = quit ] && exit 0
  sent "$line"
  printf '%s\\nquit\\n' "$line" | /usr/bin/scontrol > /dev/null
done
"""


def drains_of(log: Path) -> list[float]:
    """Unix seconds at which each command was sent that drains a node."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [float(line.split()[0]) for line in lines if "state=drain" in line]


async def stopped(folder: Path, nodes: int, log: Path, by: str) -> dict[str, object]:
    """Many go bad at once, and everything is stopped."""
    hub = Hub(folder, nodes, MANY, LIFTED)
    async with hub.running() as (_, remedies):
        hub.break_at_once(hub.names)
        await until(lambda: len(drains_of(log)) >= 2)
        at = time.time()
        if by == "file":
            (folder / "STOP").touch()
        else:
            command = Command(verb=Verb.STOP, by="benchmark", at=at, reason="stop")
            await remedies.engine.submit_command(command)
        await asyncio.sleep(LASTS_S)
        drains = drains_of(log)
        problems = list(remedies.problems)
    return {
        "nodes": nodes,
        "begun": len(drains),
        "STOP -> last effect_s": round(max(max(drains) - at, 0.0), 2),
        "problems": problems,
    }


async def approved(folder: Path, slurm: Slurm) -> dict[str, object]:
    """One waits for a yes, which somebody says."""
    hub = Hub(folder, 4, MANY, LIFTED)
    hub.rules_file.write_text(RULES.replace("mode: auto", "mode: approve"), encoding="utf-8")
    name = hub.names[0]
    watcher = DrainWatcher(slurm)
    try:
        async with hub.running() as (_, remedies):

            def waits() -> bool:
                remedy = remedies.engine.state.remedies.get(name)
                return remedy is not None and remedy.stage is Stage.AWAITING_APPROVAL

            hub.break_at_once([name])
            await until(waits)
            await asyncio.sleep(1.0)
            at, plan = time.time(), remedies.engine.state.remedies[name].asked
            yes = Command(verb=Verb.APPROVE, by="benchmark", at=at, node=name, digest=plan)
            await remedies.engine.submit_command(yes)
            await until(lambda: name in watcher.seen)
            problems = list(remedies.problems)
    finally:
        watcher.end()
    return {"yes -> DRAIN_s": round(watcher.seen[name] - at, 2), "problems": problems}


def measured(part: str, nodes: int) -> dict[str, object]:
    """One fresh hub over one fresh controller."""
    with tempfile.TemporaryDirectory(prefix="brakes") as name, without_storms():
        folder = Path(name)
        (folder / "slurm").mkdir()
        log = folder / "log"
        with slurm_of_many(folder / "slurm", f"n[0001-{nodes:04d}]") as slurm:
            options = {"slurm_conf": str(slurm.conf)}
            if part != "yes":
                options["commands"] = str(folder / "bin")
                script(folder / "bin" / "scontrol", SLOW.replace("{log}", str(log)))
                (folder / "bin" / "squeue").symlink_to("/usr/bin/squeue")

            def make(context: ActionContext) -> object:
                return SlurmAction(msgspec.structs.replace(context, options=options))

            with acting_by(make):
                if part == "yes":
                    return asyncio.run(approved(folder, slurm))
                return asyncio.run(stopped(folder, nodes, log, part))


def main() -> None:
    """Print one JSON document."""
    end_children_when_terminated()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="file, command, yes")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=40)
    given = parser.parse_args()
    parts = given.parts or ["file", "command", "yes"]
    document = {
        **{part: [measured(part, given.nodes) for _ in range(given.runs)] for part in parts},
        "goals_s": GOALS,
        "load": [round(one, 1) for one in os.getloadavg()],
        "cpus": os.cpu_count(),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
