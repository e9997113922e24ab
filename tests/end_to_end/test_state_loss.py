"""A real Slurm whose controller is started anew, with its state and without, while a bad node is out."""

from collections.abc import Iterator

import pytest

from support.slurm.lab_cluster import until
from support.slurm.site import SlurmSite, hub_name


@pytest.fixture(autouse=True)
def calm(site: SlurmSite) -> Iterator[None]:
    """Every test begins and ends with nothing wrong, and nothing being done."""
    yield
    site.calm_down()


def drained_by_us(site: SlurmSite, node: str) -> bool:
    line = site.slurm.node(node)
    return "DRAIN" in line and "Reason=accelwatch:" in line


def drains(site: SlurmSite, node: str) -> int:
    return sum(f"nodename={node} state=drain" in line for line in site.changes)


def test_a_state_that_is_lost_is_nobodys_wish_and_the_bad_node_is_out_again(
    site: SlurmSite,
) -> None:
    before = drains(site, "n1")
    site.lose("n1")
    until(lambda: site.stage("n1") == "quarantined", f"n1 is out: {site.hub.log}")
    site.slurm.restart_controller(lose_state=True)
    until(lambda: drains(site, "n1") == before + 2, f"n1 is drained again: {site.hub.log}")
    assert drained_by_us(site, "n1")
    until(lambda: site.stage("n1") == "quarantined", "it is known to be out")
    assert (
        site.hub.log.read_text().count("cluster has lost its state: gpu-1 is open to jobs again")
        == 1
    )
    assert "left alone" not in " ".join(site.notes("n1"))


def test_a_state_that_is_kept_is_no_loss_and_a_reset_after_it_is_a_persons_wish(
    site: SlurmSite,
) -> None:
    site.lose("n1")
    until(lambda: site.stage("n1") == "quarantined", f"n1 is out: {site.hub.log}")
    before, lost = drains(site, "n1"), site.hub.log.read_text().count("has lost its state")
    site.slurm.restart_controller()
    until(lambda: "UNKNOWN" not in site.slurm.node("n1"), "its slurmd is known again")
    assert drained_by_us(site, "n1")
    site.slurm.scontrol("update", "node=n1", "state=resume")
    wanted = f"{hub_name('n1')} is back in the pool and takes jobs, but looks bad"
    until(lambda: wanted in " ".join(site.notes("n1")), f"a person is told: {site.hub.log}")
    assert site.hub.log.read_text().count("has lost its state") == lost
    assert drains(site, "n1") == before
