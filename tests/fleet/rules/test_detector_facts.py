"""What a detector finds, as facts that rules ask."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from accelwatch.alerting.rules.document import Scope as RuleScope
from accelwatch.alerting.rules.loading.pack_files import pack_file
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.base.slices import LongWork
from accelwatch.detection.arrays import Indices
from accelwatch.detection.findings.finding import Finding, Level, Scope
from accelwatch.expr.needs import Needs
from accelwatch.expr.vocabulary.detector_names import SUBJECTS
from accelwatch.fleet.rules.columns.detector_facts import DetectorFacts
from accelwatch.fleet.rules.columns.fleet_rule_context import FleetRuleContext
from accelwatch.fleet.rules.columns.rule_context import TableViews
from accelwatch.fleet.rules.rule_evaluator import FleetRuleEvaluator
from accelwatch.schema.snapshot import Owner
from support.detection.findings import finding
from support.fleet.two_nodes import TwoNodes, view
from support.incidents.incident_samples import incident

JOB = (Owner(kind="job", job_id="4711", scheduler="slurm"),)


class Found:
    """A detector that finds what a test wants, on rows of the table."""

    def __init__(self) -> None:
        self.needs = Needs()
        self.facts = DetectorFacts()
        self.findings: tuple[Finding, ...] = ()
        # By subject, the rows of it and the position of the finding.
        self.rows: dict[str, Mapping[int, int]] = {}
        self.frames = 0
        self.is_paused = False

    def pause(self) -> None:
        self.is_paused = True
        self.facts.clear()

    async def detect(self, columns: TableViews, work: LongWork) -> None:
        self.frames += 1
        at: dict[str, Indices] = {}
        for subject in SUBJECTS:
            at[subject] = np.full(columns.size, -1, dtype=np.intp)
            for row, position in self.rows.get(subject, {}).items():
                at[subject][row] = position
        self.facts.update(self.findings, at)


class Hub(TwoNodes):
    """Two nodes of two devices in a job, rules, and a detector beside them."""

    def __init__(self, folder: Path, rules: str, *, detector: Found | None) -> None:
        super().__init__()
        file = folder / "rules.yaml"
        file.write_text(f"version: 1\nrules:\n{rules}", encoding="utf-8")
        self.evaluator = FleetRuleEvaluator(
            FleetRuleContext(self.fleet), load([file]).rules, detector=detector
        )
        for node in ("a", "b"):
            self.report(node, view(0, owners=JOB), view(1, owners=JOB))

    def tick(self) -> dict[str, list[str]]:
        """Who has started, by rule."""
        self.clock.advance(1.0)
        changes = asyncio.run(self.evaluator.tick(LongWork()))
        self.changes = changes
        fired: dict[str, list[str]] = {}
        for change in changes:
            if change.transition is Transition.FIRED:
                fired.setdefault(change.rule, []).append(str(change.entity))
        return fired


BY_SUBJECT = """
- {id: of_device, title: T, when: detector.device.alert}
- {id: of_node, title: T, scope: node, when: detector.node.alert}
- {id: of_job, title: T, scope: job, when: detector.job.alert}
- {id: of_group, title: T, scope: node, when: detector.group.alert}
"""


@pytest.mark.parametrize(
    ("subject", "rows", "rule", "entities"),
    [
        ("device", {1: 0}, "of_device", ["a nvidia:1"]),
        ("node", {0: 0, 1: 0}, "of_node", ["a"]),
        ("job", {0: 0, 1: 0, 2: 0, 3: 0}, "of_job", ["job 4711"]),
        ("group", {0: 0, 1: 0, 2: 0, 3: 0}, "of_group", ["a", "b"]),
    ],
)
def test_each_subject_is_a_fact_of_its_own(
    tmp_path: Path, subject: str, rows: Mapping[int, int], rule: str, entities: list[str]
) -> None:
    detector = Found()
    hub = Hub(tmp_path, BY_SUBJECT, detector=detector)
    assert hub.tick() == {}
    detector.findings, detector.rows = (finding(Scope(subject)),), {subject: rows}
    fired = hub.tick()
    assert list(fired) == [rule]
    assert len(fired[rule]) == len(entities)
    if subject != "device":
        assert fired[rule] == entities


def test_a_watch_is_no_alert_and_an_alert_no_watch(tmp_path: Path) -> None:
    rules = """
- {id: alert, title: T, scope: node, when: detector.node.alert}
- {id: watch, title: T, scope: node, when: detector.node.watch}
"""
    detector = Found()
    hub = Hub(tmp_path, rules, detector=detector)
    detector.rows = {"node": {0: 0, 1: 0}}
    detector.findings = (finding(Scope.NODE, level=Level.WATCH),)
    assert list(hub.tick()) == ["watch"]
    detector.findings = (finding(Scope.NODE, level=Level.ALERT),)
    assert list(hub.tick()) == ["alert"]


def test_texts_and_numbers_of_a_finding_can_be_compared(tmp_path: Path) -> None:
    rules = """
- id: whole
  title: T
  when: >-
    detector.family == "power" and detector.advice == "exclude" and detector.score > 9 and
    detector.onset == 1790000000 and detector.subject == "node"
- {id: other_family, title: T, when: detector.family == "nvlink"}
- {id: low_score, title: T, when: detector.score < 9}
"""
    detector = Found()
    hub = Hub(tmp_path, rules, detector=detector)
    detector.findings, detector.rows = (finding(Scope.NODE),), {"node": {0: 0, 1: 0}}
    assert list(hub.tick()) == ["whole"]


def test_the_narrowest_finding_answers_where_no_subject_is_named(tmp_path: Path) -> None:
    detector = Found()
    rules = "- {id: narrow, title: T, when: detector.family == 'thermal'}"
    hub = Hub(tmp_path, rules, detector=detector)
    detector.findings = (finding(Scope.JOB), finding(Scope.DEVICE, family="thermal"))
    detector.rows = {"job": {0: 0, 1: 0, 2: 0, 3: 0}, "device": {2: 1}}
    [[who]] = hub.tick().values()
    assert who.startswith("b ")


def test_evidence_is_the_sentence_and_the_signals(tmp_path: Path) -> None:
    detector = Found()
    hub = Hub(tmp_path, BY_SUBJECT, detector=detector)
    detector.findings, detector.rows = (finding(Scope.NODE),), {"node": {0: 0, 1: 0}}
    hub.tick()
    [change] = hub.changes
    sentence, power = change.evidence
    assert sentence.text == "a draws 9 % less power at equal load."
    assert (power.signal, power.value, power.expected, power.z) == ("power_watts", 412, 455, -9.1)
    assert power.text == (
        "power_watts is 412 W; its peers have 455 W (450 W to 460 W), usual here is 453 W; z -9.1"
    )
    assert power.since == 1_790_000_000.0


def test_without_a_detector_nothing_is_known_and_nothing_fires(tmp_path: Path) -> None:
    rules = BY_SUBJECT + "- {id: negated, title: T, when: not detector.alert}\n"
    hub = Hub(tmp_path, rules, detector=None)
    assert hub.tick() == {}


def test_no_detector_runs_where_no_rule_needs_it(tmp_path: Path) -> None:
    detector = Found()
    hub = Hub(tmp_path, "- {id: plain, title: T, when: power_watts < 1}", detector=detector)
    hub.tick()
    assert detector.frames == 0
    assert detector.is_paused


@pytest.mark.parametrize(("node", "suspects"), [("b", ("b",)), ("", ())])
def test_the_culprit_of_a_finding_is_the_suspect(
    tmp_path: Path, node: str, suspects: tuple[str, ...]
) -> None:
    detector = Found()
    hub = Hub(tmp_path, BY_SUBJECT, detector=detector)
    detector.findings = (finding(Scope.JOB, node=node, job="4711", nodes=("b", "a")),)
    detector.rows = {"job": {0: 0, 1: 0, 2: 0, 3: 0}}
    hub.tick()
    stands = incident(rule="of_job", entity=Entity(scope=RuleScope.JOB, job="4711"))
    other = incident(rule="of_job", entity=Entity(scope=RuleScope.JOB, job="4712"))
    assert hub.evaluator.suspects(stands) == suspects
    assert hub.evaluator.suspects(other) == ()


def test_columns_stay_the_same_objects_while_nothing_changes() -> None:
    facts = DetectorFacts()
    at = {subject: np.array([0, -1], dtype=np.intp) for subject in SUBJECTS}
    facts.update([finding(Scope.NODE)], at)
    family = facts.text("detector.family", 2)
    facts.update([finding(Scope.NODE)], {key: rows.copy() for key, rows in at.items()})
    assert facts.text("detector.family", 2) is family
    facts.update([finding(Scope.NODE, family="thermal")], at)
    assert facts.text("detector.family", 2).values == ("thermal",)


def test_rows_that_have_come_since_have_no_finding() -> None:
    facts = DetectorFacts()
    facts.update([finding(Scope.NODE)], {key: np.array([0], dtype=np.intp) for key in SUBJECTS})
    assert facts.number("detector.alert", 1).tolist() == [1.0]
    assert np.isnan(facts.number("detector.alert", 2)[1])
    assert facts.text("detector.family", 3).codes.tolist() == [0, -1, -1]
    assert facts.of_row("node", 5) is None


def test_the_pack_has_a_rule_for_every_finding() -> None:
    rules = load([pack_file("detector")]).rules.values()
    assert all(rule.needs_detector for rule in rules)
    assert {rule.mode for rule in rules} == {"observe"}
    assert {rule.scope for rule in rules} == {"device", "node", "job"}
