"""How far may be gone with a node: the least of what everybody allows, and how a new rule begins."""

from typing import Any, get_args

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.rules.document import Mode, Trust
from accelwatch.alerting.rules.loading.file_loader import CEILINGS
from accelwatch.alerting.rules.rule import Canary
from accelwatch.remediation.policy.guards.denial import PERMIT, Denial, DenialKind, denials
from accelwatch.remediation.policy.guards.limits.canary import (
    CanaryState,
    RuleVersion,
    may_act,
    noted,
    position,
)
from accelwatch.remediation.policy.guards.limits.ceiling import (
    NEEDS,
    UNDOING,
    Bearing,
    Ceiling,
    answers,
)
from accelwatch.remediation.settings import CeilingName

DAY = 86_400.0
SPARED = Denial(why=DenialKind.CANARY, text="new")


def bearing(**others: Any) -> Bearing:
    """One that lets everything through, with changes."""
    free: dict[str, Any] = {"node": "n1", "mode": Mode.AUTO, "site": Ceiling.RESUME}
    return Bearing(**{**free, **others})


def kinds(limits: Bearing, kind: IntentKind = IntentKind.REBOOT) -> list[DenialKind]:
    return [denial.why for denial in denials(answers(limits, kind))]


def test_settings_rules_and_engine_mean_the_same_ceilings() -> None:
    names = tuple(ceiling.value for ceiling in Ceiling)
    assert names == CEILINGS
    assert names == get_args(CeilingName)


def test_every_intent_has_a_ceiling() -> None:
    assert set(NEEDS) == set(IntentKind)


def test_nothing_in_the_way_is_auto() -> None:
    for kind in IntentKind:
        assert set(answers(bearing(profile=Ceiling.RESUME), kind)) == {PERMIT}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"loss_risk": "it is replicated asynchronously"}, DenialKind.APPROVAL),
        ({"sure": False}, DenialKind.APPROVAL),
        ({"mode": Mode.OBSERVE}, DenialKind.MODE),
        ({"mode": Mode.OFF}, DenialKind.MODE),
        ({"mode": Mode.APPROVE}, DenialKind.APPROVAL),
        ({"site": Ceiling.DRAIN}, DenialKind.CEILING),
        ({"profile": Ceiling.DRAIN}, DenialKind.CEILING),
        ({"stopped_by": "ada"}, DenialKind.STOPPED),
        ({"canary": SPARED}, DenialKind.CANARY),
        ({"trusted": False}, DenialKind.TRUST),
        ({"silence": "s1"}, DenialKind.SILENCE),
        ({"vetoed_by": "ada until 18:00"}, DenialKind.VETOED),
        ({"denied_by": "ada"}, DenialKind.DENIED),
    ],
)
def test_each_alone_is_in_the_way(change: dict[str, Any], kind: DenialKind) -> None:
    (denial,) = denials(answers(bearing(**change), IntentKind.REBOOT))
    assert denial.why is kind
    assert denial.text
    named = [value for value in change.values() if type(value) is str]
    assert all(name in denial.text for name in named)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"stopped_by": "ada: storm"},
            "everything is stopped: ada: storm. `accelwatch remedy start --reason WHY` resumes it",
        ),
        ({"mode": Mode.APPROVE}, "the rule asks for a person's approval"),
        (
            {"sure": False},
            "the rule's confidence is low, so it asks for a person's approval; "
            "`act_on: low` lets it act without",
        ),
        (
            {"loss_risk": "r1 is asynchronous"},
            "a fail-over may lose what is written down, so it needs a person's approval: "
            "r1 is asynchronous",
        ),
        ({"mode": Mode.OBSERVE}, "the rule only observes"),
        ({"mode": Mode.OFF}, "the rule is off"),
        (
            {"site": Ceiling.DRAIN},
            "the site's ceiling (remedy.ceiling) is drain, and this needs remedy",
        ),
        (
            {"profile": Ceiling.OBSERVE},
            "the ceiling of the profile of n1 is observe, and this needs remedy",
        ),
        (
            {"trusted": False},
            "some of the evidence is unauthenticated: anyone could have sent it",
        ),
        ({"silence": "s1"}, "it is silenced or in maintenance: s1"),
        ({"vetoed_by": "ada: testing"}, "nothing may be done to it: ada: testing"),
        ({"denied_by": "ada"}, "ada has denied it"),
    ],
)
def test_what_is_in_the_way_is_reported_in_words(change: dict[str, Any], text: str) -> None:
    (denial,) = denials(answers(bearing(**change), IntentKind.REBOOT))
    assert denial.text == text


def test_everything_that_is_in_the_way_is_reported() -> None:
    limits = bearing(
        mode=Mode.OBSERVE, site=Ceiling.OBSERVE, stopped_by="ada", vetoed_by="bo", trusted=False
    )
    assert kinds(limits) == [
        DenialKind.STOPPED,
        DenialKind.MODE,
        DenialKind.CEILING,
        DenialKind.TRUST,
        DenialKind.VETOED,
    ]


def test_what_we_did_is_undone_whatever_anybody_says() -> None:
    limits = bearing(mode=Mode.OFF, site=Ceiling.OBSERVE, stopped_by="ada", vetoed_by="bo")
    assert (
        frozenset(
            {
                IntentKind.RELEASE,
                IntentKind.RESTORE_JOB,
                IntentKind.FOLLOW_JOB,
                IntentKind.RETURN_SPARE,
            }
        )
        == UNDOING
    )
    for kind in UNDOING:
        assert kinds(limits, kind) == []


@pytest.mark.parametrize("kind", sorted(set(IntentKind) - UNDOING))
def test_an_intent_is_done_from_its_ceiling_on(kind: IntentKind) -> None:
    for ceiling in Ceiling:
        high = ceiling.height >= NEEDS[kind].height
        assert (kinds(bearing(site=ceiling), kind) == []) is high
        assert (kinds(bearing(profile=ceiling), kind) == []) is high


def test_the_lower_of_site_and_profile_counts() -> None:
    low = {"site": Ceiling.RESUME, "profile": Ceiling.QUARANTINE}
    assert kinds(bearing(**low), IntentKind.QUARANTINE) == []
    assert kinds(bearing(**low), IntentKind.SIGNAL_JOB) == [DenialKind.CEILING]
    assert kinds(
        bearing(site=Ceiling.QUARANTINE, profile=Ceiling.RESUME), IntentKind.SIGNAL_JOB
    ) == [DenialKind.CEILING]


def test_the_site_observes_unless_it_says_otherwise() -> None:
    limits = bearing(site=Ceiling.OBSERVE)
    for kind in set(IntentKind) - UNDOING:
        assert kinds(limits, kind) == [DenialKind.CEILING]


@pytest.mark.parametrize(
    ("trusted", "trust", "well"),
    [
        (True, Trust.AUTHENTICATED, True),
        (False, Trust.AUTHENTICATED, False),
        (True, Trust.ANY, True),
        (False, Trust.ANY, True),
    ],
)
def test_evidence_that_anybody_may_have_sent_counts_where_the_rule_says_so(
    trusted: bool, trust: Trust, well: bool
) -> None:
    assert (kinds(bearing(trusted=trusted, trust=trust)) == []) is well


def test_what_bears_upon_it_can_be_written_down() -> None:
    limits = bearing(canary=SPARED, profile=Ceiling.DRAIN)
    assert msgspec.json.decode(msgspec.json.encode(limits), type=Bearing) == limits


CANARY = Canary(share=0.05, for_s=DAY)


def split(rule: str) -> tuple[str, str]:
    """A node on which the rule acts at first, and one on which it does not."""
    nodes = sorted((f"n{at}" for at in range(200)), key=lambda node: position(rule, node))
    assert position(rule, nodes[0]) < 0.05 < position(rule, nodes[-1])
    return nodes[0], nodes[-1]


def test_a_new_rule_acts_on_its_share_and_after_its_time_everywhere() -> None:
    chosen, other = split("r")
    state = noted(CanaryState(), {"r": "d1"}, 1000.0)
    assert may_act(state, "r", chosen, CANARY, 1000.0) == PERMIT
    answer = may_act(state, "r", other, CANARY, 1000.0 + DAY - 1)
    assert isinstance(answer, Denial)
    assert (answer.why, answer.until) == (DenialKind.CANARY, 1000.0 + DAY)
    assert "0.05 of the nodes" in answer.text
    assert may_act(state, "r", other, CANARY, 1000.0 + DAY) == PERMIT


def test_a_changed_rule_is_a_new_one_and_an_unchanged_one_is_not() -> None:
    _, other = split("r")
    state = noted(CanaryState(), {"r": "d1"}, 0.0)
    same = noted(state, {"r": "d1"}, DAY)
    assert same is state
    assert may_act(same, "r", other, CANARY, DAY) == PERMIT
    changed = noted(state, {"r": "d2"}, DAY)
    assert changed.rules == {"r": RuleVersion("d2", DAY)}
    assert may_act(changed, "r", other, CANARY, DAY) != PERMIT


def test_a_rule_that_is_gone_is_forgotten() -> None:
    state = noted(CanaryState(), {"r": "d1", "s": "d1"}, 0.0)
    assert set(noted(state, {"s": "d1"}, 5.0).rules) == {"s"}


def test_a_rule_that_nobody_noted_is_new() -> None:
    _, other = split("r")
    assert may_act(CanaryState(), "r", other, CANARY, 1e9) != PERMIT


def test_without_a_share_a_rule_acts_everywhere() -> None:
    _, other = split("r")
    assert may_act(CanaryState(), "r", other, None, 0.0) == PERMIT
    assert may_act(CanaryState(), "r", other, Canary(share=1.0, for_s=DAY), 0.0) == PERMIT


def test_the_share_is_another_for_each_rule_and_about_as_large_as_it_says() -> None:
    nodes = [f"n{at:04}" for at in range(4000)]
    shares = [{node for node in nodes if position(rule, node) < 0.05} for rule in ("a", "b")]
    assert all(140 <= len(share) <= 260 for share in shares)
    assert len(shares[0] & shares[1]) < 40


def test_where_a_node_stands_never_changes() -> None:
    """Also across processes: a restart must not act on another share."""
    assert position("nvidia.gpu.lost", "n12") == pytest.approx(0.9067, abs=1e-4)
    assert 0 <= position("r", "\udc80") < 1


def test_first_times_can_be_written_down() -> None:
    state = noted(CanaryState(), {"r": "d1"}, 5.0)
    assert msgspec.json.decode(msgspec.json.encode(state), type=CanaryState) == state
