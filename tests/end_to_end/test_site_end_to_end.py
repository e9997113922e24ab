"""From a fault in the driver to a job that goes on elsewhere and a node that works again."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from end_to_end.training import Training
from support.slurm.lab_cluster import until
from support.slurm.site import SlurmSite, hub_name

TAKEN = "takes no new work"


@pytest.fixture(autouse=True)
def calm(site: SlurmSite) -> Iterator[None]:
    """Every test begins and ends with nothing wrong, and nothing being done."""
    yield
    site.calm_down()


def test_a_job_goes_on_elsewhere_and_its_node_comes_back(site: SlurmSite, tmp_path: Path) -> None:
    job = Training(site, tmp_path, "-N2", "--nodelist=n1,n2", "--exclude=n4")
    rival = site.slurm.submit("-N1", "--nodelist=n2")
    site.lose("n1")
    until(job.runs_again, f"it runs again: {site.hub.log}")
    assert job.field("NodeList") == "n[2,5]"
    assert set(job.field("ExcNodeList").split(",")) == {"n1", "n4"}
    assert "DRAIN" in site.slurm.node("n1")
    (incident,) = site.get("/v1/incidents")["incidents"]
    reason = f"accelwatch:{incident['id']}:site.gpu.lost A GPU has fallen off the bus ["
    assert f" Reason={reason}" in site.slurm.node("n1")
    assert "JobState=PENDING" in site.slurm.job(rival)
    job.has_gone_on()
    assert incident["provenance"] == "authenticated"
    site.repair("n1")
    until(lambda: "DRAIN" not in site.slurm.node("n1"), f"n1 is released: {site.hub.log}")
    assert "accelwatch" not in site.slurm.node("n1")
    until(lambda: site.stage("n1") == "healthy", "n1 works again")
    assert job.field("JobState") == "RUNNING"
    # What Slurm has refused, as while its job still completes, has done nothing.
    done = [line.split()[1] for line in site.changes if line.startswith("0 ")]
    assert Counter(done)["requeue"] == 1, site.changes
    assert job.field("Restarts") == "1"


def test_a_controller_that_hangs_in_the_middle_gets_no_command_twice(
    site: SlurmSite, tmp_path: Path
) -> None:
    job = Training(site, tmp_path, "-N1", "--nodelist=n1")
    before = len(site.changes)
    site.hang_at("requeue")
    site.lose("n1")
    controller = site.slurm.pid("slurmctld")
    try:
        until(lambda: f"1 requeue {job.id}" in site.changes, "the command has timed out")
        # Slurm's commands wait ten seconds each, and these looks come one after another.
        until(lambda: site.rounds_unanswered >= 3, "three looks have timed out", 240.0)
    finally:
        os.kill(controller, signal.SIGCONT)
    until(job.runs_again, f"it runs again: {site.hub.log}")
    assert "n1" not in job.field("NodeList")
    job.has_gone_on()
    commands = Counter(line.split()[1] for line in site.changes[before:])
    assert commands["requeue"] == 1
    site.repair("n1")
    until(lambda: "DRAIN" not in site.slurm.node("n1"), f"n1 is released: {site.hub.log}")


def test_people_keep_what_they_take(site: SlurmSite) -> None:
    before = len(site.changes)
    site.slurm.scontrol("update", "node=n1", "state=drain", "reason=swap the riser")
    for node in ("n1", "n2", "n3"):
        site.lose(node)
    out = {node: [f"{hub_name(node)} {TAKEN}"] for node in ("n2", "n3")}
    until(lambda: {node: site.notes(node)[-1:] for node in out} == out, "two are taken out")
    site.slurm.scontrol("update", "node=n2", "state=drain", "reason=mine now")
    site.slurm.scontrol("update", "node=n3", "state=resume")
    until(lambda: site.stage("n1") == "held_by_other", "n1 is used by another tool")
    until(lambda: "took gpu-2 over" in " ".join(site.notes("n2")), "n2 was taken over")
    until(lambda: "left alone" in " ".join(site.notes("n3")), "n3 was taken back")
    # After the cooldown what was seen before the person's word counts no more, though it goes on.
    until(lambda: site.stage("n3") == "healthy", "the cooldown is over")
    for node in ("n1", "n2", "n3"):
        site.repair(node)
    until(lambda: not site.get("/v1/remedies")["remedies"], f"nothing is done: {site.hub.log}")
    for node, reason in (("n1", "swap the riser"), ("n2", "mine now")):
        assert "+DRAIN " in site.slurm.node(node)
        assert f" Reason={reason} [" in site.slurm.node(node)
    assert "DRAIN" not in site.slurm.node("n3")
    commands = [line.partition(" reason=")[0] for line in site.changes[before:]]
    assert sorted(commands) == [f"0 update nodename={node} state=drain" for node in ("n2", "n3")]
