"""Slurm's reservations for maintenance: a real controller if there is one, and a hub that reads it."""

import asyncio
import logging
import tempfile
import time
from pathlib import Path

import pytest

from accelwatch.alerting.incidents.incident_store import IncidentStore
from accelwatch.alerting.incidents.model.incident import Facts
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.base.errors import UsageError
from accelwatch.fleet.hub.slurm_maintenance import SlurmMaintenance
from accelwatch.fleet.targets.settings import SlurmSd
from accelwatch.fleet.targets.slurm.reservations import reservations, windows_of
from support.slurm.controller import slurm_cluster

# As Slurm 22.05 prints them.
BIOS = (
    "ReservationName=bios StartTime=1795346631 EndTime=1826882631 Duration=365-00:00:00"
    " Nodes=c001,n[001-002] NodeCnt=2 CoreCnt=128 Features=(null) PartitionName=(null)"
    " Flags=MAINT,IGNORE_JOBS,SPEC_NODES TRES=cpu=128 Users=root State=ACTIVE"
)


def test_reservations_for_maintenance_are_windows() -> None:
    (window,) = windows_of(f"{BIOS}\n{BIOS.replace('MAINT,', '').replace('=bios', '=course')}\n")
    assert window == Maintenance(
        id="slurm:bios",
        nodes=("c001", "n[001-002]"),
        starts=1795346631.0,
        ends=1826882631.0,
        by="slurm",
        verified=True,
        reason="Slurm reservation bios",
    )
    assert windows_of("No reservations in the system\n") == []


def test_the_reservation_that_we_hold_for_a_job_is_no_maintenance() -> None:
    assert windows_of(BIOS.replace("=bios", "=accelwatch-inc-7-42")) == []


def test_one_without_nodes_is_not_one_of_all_nodes() -> None:
    assert windows_of(BIOS.replace("c001,n[001-002]", "(null)")) == []


@pytest.mark.parametrize(
    ("before", "after"), [("1795346631", "Unknown"), ("n[001-002]", "n[002-001]")]
)
def test_what_cannot_be_read_is_refused(before: str, after: str) -> None:
    with pytest.raises(UsageError):
        windows_of(BIOS.replace(before, after))


def test_a_real_controller_lists_them() -> None:
    with tempfile.TemporaryDirectory(prefix="slurm") as name, slurm_cluster(Path(name)) as slurm:
        settings = SlurmSd(slurm_conf=str(slurm.conf))
        assert reservations(settings) == []
        made = ("create", "reservation", "users=root", "duration=60", "starttime=now")
        slurm.scontrol(*made, "ReservationName=bios", "nodes=n[001-002]", "flags=maint,ignore_jobs")
        slurm.scontrol(*made, "ReservationName=course", "nodes=n004")
        (window,) = reservations(settings)
        assert (window.id, window.nodes) == ("slurm:bios", ("n[001-002]",))
        assert window.ends - window.starts == 3600
        assert abs(window.starts - time.time()) < 600


class Cluster:
    """Answers as the test says."""

    def __init__(self) -> None:
        self.answer: list[Maintenance] | UsageError = []
        self.queries = 0

    def __call__(self, _: SlurmSd) -> list[Maintenance]:
        self.queries += 1
        if isinstance(self.answer, UsageError):
            raise self.answer
        return self.answer


def test_a_cluster_that_does_not_answer_keeps_its_windows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster, sections = Cluster(), [SlurmSd(), SlurmSd(partitions=("train",))]
    incident_store = IncidentStore({}, lambda _: Facts(), wall=lambda: 1795346700.0)
    judging: list[IncidentStore] = []
    slurm = SlurmMaintenance(lambda: sections, lambda: next(iter(judging), None), cluster)

    async def scenario() -> None:
        cluster.answer = windows_of(BIOS)
        await slurm.poll()
        assert cluster.queries == 0, "nobody judges"
        judging.append(incident_store)
        assert await slurm.poll() == sections
        assert cluster.queries == 1, "two sections, one cluster"
        assert [window.id for window in incident_store.muting.windows] == ["slurm:bios"]
        cluster.answer = UsageError("scontrol ended with 1: no contact")
        with caplog.at_level(logging.ERROR):
            await slurm.poll()
            await slurm.poll()
        assert [window.id for window in incident_store.muting.windows] == ["slurm:bios"]
        (message,) = caplog.messages
        assert "no contact" in message
        cluster.answer = []
        await slurm.poll()
        assert incident_store.muting.windows == []

        cluster.answer = windows_of(BIOS)
        await slurm.poll()
        sections[:] = [SlurmSd(maintenance=False)]
        assert await slurm.poll() == []
        assert incident_store.muting.windows == []

    asyncio.run(scenario())
