"""Which class of readings a verdict of a hub rests on, and that its incident says so."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.evidence.board import ReceivedAlert
from accelwatch.fleet.state.nodes.tracing import class_of, of_node, of_value
from accelwatch.fleet.target import STORED, Target
from accelwatch.schema.event import PUSHED, Category, ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.provenance import ORDER, Provenance, strongest, weakest
from accelwatch.schema.stream.context import Event
from support.fleet.two_nodes import TwoNodes, host, view
from support.machines import composed as machines

PLAIN, EXPORTER, STORE = Provenance.PLAIN, Provenance.EXPORTER, Provenance.STORE
SAFE = Provenance.AUTHENTICATED
LOW = "power_watts < 200"


class Sourced(TwoNodes):
    """A node `a` of sources that are reached in different ways."""

    def __init__(self, *schemes: str) -> None:
        super().__init__()
        self.targets = [
            Target(node="a", scheme=scheme, address=f"a:{9000 + at}")
            for at, scheme in enumerate(schemes)
        ]
        self.fleet.set_targets([*self.targets, Target(node="b", scheme="https", address="b:9877")])

    def report_values(self, at: int, dialect: str, **values: float) -> None:
        """The source of an address reports these of device 0."""
        series_values: dict[Series, float | None] = {("reset_required",): None}
        series_values |= {(key,): value for key, value in values.items()}
        source = self.fleet.source(self.targets[at].key)
        assert source is not None
        source.dialect = dialect
        views = [view(0, series_values), host(host_blocked_processes=9)] if dialect else []
        self.fleet.read(self.targets[at].key, views, None, 1.0)

    def opened(self, folder: Path, when: str, *more: str) -> list[Incident]:
        """What a rule finds now."""
        folder.mkdir(exist_ok=True)
        file = folder / "rules.yaml"
        lines = "".join(f", {one}" for one in more)
        rule = f"- {{id: low, title: Low, when: '{when}'{lines}}}"
        file.write_text(f"version: 1\ndefaults: {{keep: 0}}\nrules:\n{rule}\n", encoding="utf-8")

        async def scenario() -> list[Incident]:
            runner = RuleRunner(
                FleetEvaluator(self.fleet), RuleSettings(files=(str(file),)), folder
            )
            await runner.start()
            await runner.tick()
            found = runner.open
            await runner.stop()
            return found

        return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("scheme", "dialect", "verified", "wanted"),
    [
        ("https", "accelwatch", True, SAFE),
        ("https", "accelwatch", False, PLAIN),
        ("http", "accelwatch", True, PLAIN),
        ("https", "dcgm", True, EXPORTER),
        ("http", "dcgm", True, EXPORTER),
        ("https", "accelwatch+node", True, EXPORTER),
        (STORED, "accelwatch", True, STORE),
        (STORED, "dcgm", True, STORE),
    ],
)
def test_an_incident_says_how_its_source_was_read(
    tmp_path: Path, scheme: str, dialect: str, verified: bool, wanted: Provenance
) -> None:
    fleet = Sourced(scheme)
    fleet.fleet.verify(verified)
    fleet.report_values(0, dialect, power_watts=100.0)
    (incident,) = fleet.opened(tmp_path, LOW)
    assert incident.provenance is wanted


def test_certificates_that_are_not_looked_at_any_more_count_at_once(tmp_path: Path) -> None:
    fleet = Sourced("https")
    fleet.report_values(0, "accelwatch", power_watts=100.0)
    assert fleet.opened(tmp_path / "one", LOW)[0].provenance is SAFE
    fleet.fleet.verify(False)
    assert fleet.opened(tmp_path / "two", LOW)[0].provenance is PLAIN


@pytest.mark.parametrize(
    ("when", "wanted"),
    [
        (LOW, SAFE),  # ours reports it, and ours is believed first
        ("reset_required == 1", EXPORTER),  # of this only the exporter reports
        ("power_watts < 200 and reset_required == 1", EXPORTER),
        ("power_watts < 200 or reset_required == 1", SAFE),
        ("power_watts > 200 or reset_required == 1", EXPORTER),
        ("not (power_watts > 200 or reset_required == 0)", EXPORTER),
        ("power_watts * reset_required < 200", EXPORTER),
        ('health == "ok"', EXPORTER),  # every source has a say in it
        ('peer_median(power_watts, by="node") < 200 or power_watts < 200', SAFE),
        ("node.any(power_watts < 200)", EXPORTER),
        ("host_blocked_processes > 5", SAFE),
        ("1 == 1", SAFE),
    ],
)
def test_of_several_sources_the_one_counts_that_a_value_is_from(
    tmp_path: Path, when: str, wanted: Provenance
) -> None:
    fleet = Sourced("https", "http")
    fleet.report_values(0, "accelwatch", power_watts=100.0)
    fleet.report_values(1, "dcgm", power_watts=900.0, reset_required=1.0)
    incidents = fleet.opened(tmp_path, when)
    assert [one.provenance for one in incidents] == [wanted]


def test_a_confirmation_counts_as_well(tmp_path: Path) -> None:
    fleet = Sourced("https", "http")
    fleet.report_values(0, "accelwatch", power_watts=100.0)
    fleet.report_values(1, "dcgm", reset_required=1.0)
    (incident,) = fleet.opened(tmp_path, LOW, 'confirm: "reset_required == 1"')
    assert incident.provenance is EXPORTER


def test_a_node_that_is_silent_is_so_by_its_weakest_source(tmp_path: Path) -> None:
    fleet = Sourced("https", "http")
    fleet.report_values(0, "accelwatch", power_watts=100.0)
    fleet.report_values(1, "dcgm", reset_required=1.0)
    fleet.clock.advance(100)
    (incident,) = fleet.opened(tmp_path, 'node_state == "down"', "scope: node")
    assert incident.provenance is EXPORTER


@pytest.mark.parametrize(
    ("when", "wanted"),
    [
        ('event("evidence")', PUSHED),
        ('event("any")', PUSHED),
        ('count("any", within="1h") >= 1', PUSHED),
        ('event("evidence") or power_watts < 200', SAFE),
        ('event("evidence") and power_watts < 200', PUSHED),
    ],
)
def test_what_others_push_is_of_a_class_of_its_own(tmp_path: Path, when: str, wanted: str) -> None:
    fleet = Sourced("https")
    fleet.report_values(0, "accelwatch", power_watts=100.0)
    event = ErrorEvent(
        code="evidence_disk",
        category=Category.OTHER,
        time=fleet.clock.wall(),
        text="disk",
        source=PUSHED,
        device_id=machines.device(0).id,
    )
    fleet.fleet.evidence.activate(ReceivedAlert(key="k", node="a", event=event, until=1e12))
    if "count" in when:
        fleet.fleet.events.note("a", "gpu0", event)
    (incident,) = fleet.opened(tmp_path, when)
    assert incident.provenance == wanted


@pytest.mark.parametrize("when", ['event("xid", code == 79)', 'event("any", category == "bus")'])
def test_an_event_of_a_node_is_of_the_class_of_its_node(tmp_path: Path, when: str) -> None:
    fleet = Sourced("https")
    fleet.report_values(0, "accelwatch", power_watts=100.0)
    event = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=fleet.clock.wall(),
        text="fallen off the bus",
        source="kernel_log",
        device_id=machines.device(0).id,
    )
    fleet.fleet.events.record(
        "a",
        fleet.targets[0].key,
        [Event(sequence=1, event=event)],
        ours=lambda time: time,
        name=str,
        again=False,
    )
    (incident,) = fleet.opened(tmp_path, when)
    assert incident.provenance is SAFE


def test_the_weakest_of_what_all_must_hold_and_the_strongest_of_what_may() -> None:
    assert weakest([SAFE, STORE, PLAIN]) is STORE
    assert weakest([]) is SAFE
    assert strongest([STORE, PLAIN]) is PLAIN
    assert tuple(Provenance) == ORDER


def test_a_source_that_never_answered_is_known_by_how_it_is_polled() -> None:
    fleet = Sourced("https", "http")
    classes = [class_of(source) for source in fleet.fleet.nodes["a"].sources.values()]
    assert classes == [SAFE, PLAIN]


def test_of_a_node_without_sources_nobody_knows() -> None:
    fleet = Sourced("https")
    node = fleet.fleet.nodes["a"]
    assert of_node(node) is SAFE
    node.sources.clear()
    assert of_node(node) is Provenance.UNKNOWN


@pytest.mark.parametrize(("index", "wanted"), [(0, SAFE), (1, PLAIN), (None, EXPORTER)])
def test_what_is_not_reported_of_a_host_is_of_the_agent_that_reports_itself(
    index: int | None, wanted: Provenance
) -> None:
    fleet = Sourced("https", "http", "http")
    for at, dialect in enumerate(("accelwatch", "accelwatch", "node_exporter")):
        source = fleet.fleet.source(fleet.targets[at].key)
        assert source is not None
        source.dialect = dialect
        source.own = {("collector_up",): 1} if at == index else {}
    node = fleet.fleet.nodes["a"]
    assert node.host is None
    assert of_value(node, None, ("host_blocked_processes",)) is wanted
