"""The faults that a hub knows: journal and memory together, counted again when something changes."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec

from accelwatch.alerting.evaluation.incident_reader import IncidentReader
from accelwatch.alerting.incidents.journal.records import (
    Batch,
    IncidentRecord,
    Record,
    SilenceRecord,
)
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import Muting
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, matchers
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.fleet.detection.fault_history import REFRESH_EVERY_S, FaultHistory
from support.fleet.two_nodes import TwoNodes
from support.incidents.hardware_faults import DAY_S, failed


class Site:
    """A history over incidents that a test sets."""

    def __init__(self, journal: Path | None = None) -> None:
        self.fleet = TwoNodes()
        self.muting = Muting()
        self.runner: SimpleNamespace | None = SimpleNamespace(
            version=0,
            open=[],
            closed=[],
            rule_count=1,
            muting=self.muting,
        )
        self.history = FaultHistory(
            self.fleet.fleet, lambda: cast("IncidentReader | None", self.runner), lambda: journal
        )

    @property
    def now(self) -> float:
        return self.fleet.clock.wall()

    def failed(self, number: int, days: float = 1.0, **fields: object) -> Incident:
        return failed(number, days, now=self.now, **fields)  # type: ignore[arg-type]

    def have(self, *incidents: Incident) -> None:
        """These are open from now on."""
        assert self.runner is not None
        self.runner.open = list(incidents)
        self.runner.version += 1

    def counted(self) -> list[str]:
        asyncio.run(self.history.refresh())
        return [fault.incident for fault in self.history.faults]


def written(folder: Path, incidents: Iterable[Incident], *silences: Silence) -> Path:
    path = folder / FILE
    file = open_file(path)
    records: list[Record] = [*map(IncidentRecord, incidents), *map(SilenceRecord, silences)]
    file.write([Batch(time=1.0, records=records)])
    file.close()
    return path


def test_memory_is_newer_than_the_journal(tmp_path: Path) -> None:
    site = Site()
    site = Site(written(tmp_path, [site.failed(1), site.failed(2, 2.0), site.failed(3, 29.0)]))
    assert site.counted() == ["i2", "i1"]
    site.have(site.failed(1, trusted=False))
    assert site.counted() == ["i2"]
    assert site.history.problems == ()


def test_a_silence_of_the_journal_that_is_over_still_explains_an_incident(tmp_path: Path) -> None:
    silenced = Site().failed(1)
    silence = Silence(
        id="s1",
        matchers=matchers("node=n1"),
        starts=silenced.opened - 60,
        ends=silenced.opened + 60,
        by="ana",
        reason="a test",
    )
    assert Site(written(tmp_path, [silenced], silence)).counted() == []


def test_a_window_that_a_scheduler_announced_is_remembered_when_it_is_over() -> None:
    site = Site()
    incident = site.failed(1)
    window = Maintenance(
        id="slurm:1",
        nodes=("n1",),
        starts=incident.opened - 60,
        ends=incident.opened + 60,
        by="slurm",
        reason="MAINT",
    )
    site.muting.announce([window])
    site.have(incident)
    assert site.counted() == []
    site.muting.announce([])
    site.have(incident, site.failed(2, 2.0))
    assert site.counted() == ["i2"]


def silence_of(site: Site) -> Silence:
    now = site.now
    return Silence(
        id="s1",
        matchers=matchers("node=n1"),
        starts=now - 7200,
        ends=now + 7200,
        by="ada",
        reason="repair",
    )


def test_a_silence_that_is_ended_early_explains_nothing_afterwards() -> None:
    site = Site()
    silence = silence_of(site)
    site.muting.set(silence)
    before = site.failed(1, days=0.0)
    site.have(before)
    assert site.counted() == []
    site.fleet.clock.advance(60)
    site.muting.set(msgspec.structs.replace(silence, ends=site.now))
    site.muting.advance(site.now + 1)
    site.have(before)
    site.counted()
    site.fleet.clock.advance(3600)
    site.have(before, msgspec.structs.replace(site.failed(1, days=0.0), id="i7"))
    assert site.counted() == ["i7"]


def test_a_window_that_is_withdrawn_before_it_starts_explains_nothing() -> None:
    site = Site()
    now = site.now
    window = Maintenance(
        id="slurm:1", nodes=("n1",), starts=now + 3000, ends=now + 9000, by="slurm", reason="x"
    )
    site.muting.announce([window])
    site.have()
    site.counted()
    site.muting.announce([])
    site.fleet.clock.advance(3600)
    site.have(site.failed(1, days=0.0))
    assert site.counted() == ["i1"]


def test_what_turns_out_to_be_part_of_a_storm_counts_no_more() -> None:
    site = Site()
    site.have(site.failed(1))
    assert site.counted() == ["i1"]
    rack = site.failed(9, entity=Entity(scope=Scope.DEVICE, group="rack=r7"))
    site.have(site.failed(1, group="i9"), rack)
    assert site.counted() == []


def test_a_group_of_a_node_is_known_while_its_members_change() -> None:
    site = Site()
    group = site.failed(9, entity=Entity(scope=Scope.DEVICE, group="node=n1"))
    site.have(site.failed(1, group="i9"), group)
    assert site.counted() == ["i9"]
    site.have(site.failed(1, group="i9"))
    assert site.counted() == ["i9"]


def test_it_counts_again_when_incidents_change_or_after_a_while() -> None:
    site = Site()
    site.have(site.failed(1, 27.0))
    assert site.counted() == ["i1"]
    before = site.history.faults
    site.counted()
    assert site.history.faults is before
    site.have(site.failed(1, 27.0))
    site.counted()
    assert site.history.faults is not before
    before = site.history.faults
    site.fleet.clock.advance(REFRESH_EVERY_S)
    assert site.counted() == ["i1"]
    assert site.history.faults is not before
    # What grows old is forgotten without any change.
    site.fleet.clock.advance(2 * DAY_S)
    assert site.counted() == []


def test_without_rules_nothing_is_counted_and_nothing_is_wrong() -> None:
    site = Site()
    site.have(site.failed(1))
    assert site.counted() == ["i1"]
    site.runner = None
    assert site.counted() == []
    assert (site.history.problems, site.history.rules) == ((), 0)


def test_a_journal_that_cannot_be_read_is_reported_and_read_later(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_bytes(b"no journal")
    site = Site(path)
    site.have(site.failed(1))
    assert site.counted() == ["i1"]
    (problem,) = site.history.problems
    assert "faults of before this hub's start are not counted" in problem
    path.unlink()
    written(tmp_path, [site.failed(2, 2.0)])
    site.have(site.failed(1))
    assert site.counted() == ["i2", "i1"]
    assert site.history.problems == ()


def test_without_a_journal_it_says_so() -> None:
    site = Site()
    site.have(site.failed(1))
    assert site.counted() == ["i1"]
    assert "no journal is kept here" in site.history.problems[0]
