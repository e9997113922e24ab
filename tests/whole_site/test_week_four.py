"""Week 4 of the page, as written: a fault of each kind that its rules act on, and nothing done by hand.

The job runs elsewhere, the node is drained, rebooted, verified and given back.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accelwatch.alerting.rules.loading.pack_files import pack_file
from accelwatch.alerting.rules.loading.rule_files import load
from end_to_end.training import Training
from support.slurm.lab_cluster import until, working_slurm
from whole_site.week_four_site import WeekFour, blocks, spares, week_four

WORKERS = ("n001", "n002", "n003", "n004")


def lose(site: WeekFour, node: str) -> None:
    site.lose(node)


def miss(site: WeekFour, node: str) -> None:
    """It has booted, and has a GPU less than before."""
    site.drivers[node].system("count", 1).write()
    site.restart_agent(node)


def ask_for_a_reboot(site: WeekFour, node: str) -> None:
    site.drivers[node].set(0, "recovery_action", 2).write()


def xid(site: WeekFour, node: str) -> None:
    site.drivers[node].event(0, 151).write()


FAULTS: dict[str, tuple[str, Callable[[WeekFour, str], None]]] = {
    "nvidia.lost": ("n001", lose),
    "nvidia.missing": ("n002", miss),
    "nvidia.recovery.reboot": ("n003", ask_for_a_reboot),
    "nvidia.xid.reboot": ("n004", xid),
}


@pytest.fixture(scope="module")
def site() -> Iterator[WeekFour]:
    # A short path: munged's socket lies in it.
    with tempfile.TemporaryDirectory(prefix="week4", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        reboot = folder / "reboot"
        names = (*WORKERS, *spares())
        with working_slurm(folder, names=names, reboot_program=str(reboot)) as slurm:
            site_folder = folder / "site"
            site_folder.mkdir()
            with week_four(site_folder, slurm, names) as made:
                yield made


def test_the_faults_are_those_of_the_page(tmp_path: Path) -> None:
    file = tmp_path / "acting.yaml"
    file.write_text(blocks("Week 4")["acting.yaml"])
    rules = load([pack_file("nvidia"), file], tests=False).rules
    assert {id_ for id_, rule in rules.items() if rule.action is not None} == set(FAULTS)


@pytest.mark.parametrize("rule", FAULTS)
def test_a_job_runs_on_elsewhere_and_its_node_comes_back(
    site: WeekFour, tmp_path: Path, rule: str
) -> None:
    node, happens = FAULTS[rule]
    job = Training(site, tmp_path, "-N1", f"--nodelist={node}")
    happens(site, node)
    until(job.runs_again, f"it runs again: {site.hub.log}")
    assert job.field("NodeList") != node
    shown = site.slurm.node(node)
    assert "DRAIN" in shown
    assert f":{rule} " in shown.partition("Reason=")[2]
    job.has_gone_on()
    until(lambda: node in site.rebooted, f"{node} is rebooted: {site.remedy(node)}")
    until(
        lambda: site.stage(node) in ("probation", "healthy"),
        f"{node} is given back: {site.remedy(node)}",
        240.0,
    )
    shown = site.slurm.node(node)
    assert "DRAIN" not in shown
    assert "DOWN" not in shown
    assert "accelwatch" not in shown
    assert site.rebooted.count(node) == 1
    assert job.field("JobState") == "RUNNING"
    site.slurm.run("scancel", job.id)
    until(
        lambda: all(one["standing"] == "ready" for one in site.get("/v1/spares")["spares"]),
        "the spare is back",
    )
