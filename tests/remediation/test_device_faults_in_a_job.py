"""Jobs whose own launcher goes on without a node: told by a hook, and moved when they do not."""

from pathlib import Path

import msgspec
import pytest

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import JobPolicy, Mode, When
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.base.errors import ConfigError
from accelwatch.remediation.actions import check_devices, check_in_job
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch_script import ScriptAction
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground

NODE = "n03"
IN_JOB = msgspec.structs.replace(POLICY, job=JobPolicy.IN_JOB, ladder=())
SWAP = Kind.SWAP_IN_JOB


def out(**fields: object) -> Ground:
    """A node with a job, which has just been taken out."""
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=msgspec.structs.replace(IN_JOB, **fields))
    ground.end(NODE)
    return ground


def test_a_job_that_goes_on_by_itself_keeps_the_node_until_it_ends() -> None:
    ground = out(signal="USR1")
    assert ground.kinds(NODE) == [Kind.QUARANTINE, SWAP]
    assert ground.flying[NODE].job == JOB
    ground.end(NODE)
    ground.wait(7200, every=600)
    assert (ground.kinds(NODE), ground.stage(NODE)) == ([Kind.QUARANTINE, SWAP], Stage.DRAINING)
    ground.nodes[NODE].jobs = ()
    ground.wait(60)
    assert ground.stage(NODE) is Stage.QUARANTINED


@pytest.mark.parametrize(
    ("ending", "refusal"),
    [
        (PursuitResult.FAILED, None),
        (PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE),
        (PursuitResult.REFUSED, RefusalKind.UNSAFE),
    ],
)
def test_a_job_that_does_not_is_moved(ending: PursuitResult, refusal: RefusalKind | None) -> None:
    ground = out()
    ground.end(NODE, ending, refusal)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, SWAP, Kind.MOVE_JOB]
    assert any("did not continue without n03" in one.text for one in ground.notes)
    ground.end(NODE, moved_to=("n10",))
    assert ground.kinds(NODE).count(Kind.MOVE_JOB) == 1


@pytest.mark.parametrize(("grace_s", "within_s"), [(0.0, 900.0), (60.0, 60.0)])
def test_the_launcher_has_the_time_that_the_rule_gives_it(grace_s: float, within_s: float) -> None:
    intent = out(grace_s=grace_s).flying[NODE]
    assert intent.deadline - intent.asked == within_s


def test_a_rule_that_waits_for_the_end_of_the_job_notifies_nobody() -> None:
    ground = out(when=When.AFTER_JOB)
    ground.wait(3600, every=600)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_a_silent_node_is_fenced_before_its_job_is_moved_and_not_before_that() -> None:
    ground = out()
    ground.nodes[NODE].answering = ground.nodes[NODE].agent = False
    ground.wait(120)
    assert ground.kinds(NODE)[-1] is SWAP
    ground.end(NODE, PursuitResult.FAILED)
    assert ground.kinds(NODE)[-1] is Kind.FENCE


def test_it_stands_in_the_plan() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=msgspec.structs.replace(IN_JOB, mode=Mode.OBSERVE))
    steps = planned(ground.state, NODE, ground.now, SETTINGS).steps
    assert steps[1].text == "let job 17 continue without n03"


RULE = """\
version: 1
rules:
- id: gpu.lost
  title: GPU is lost
  when: device_up == 0
  action: {quarantine: {when: now}, job: {policy: %s}}
"""


@pytest.mark.parametrize(
    ("policy", "hook", "refused"),
    [("in_job", "quarantine", True), ("in_job", "swap_in_job", False), ("requeue", "", False)],
)
def test_a_rule_is_refused_where_no_hook_can_notify_the_launcher(
    policy: str, hook: str, refused: bool, tmp_path: Path
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULE % policy)
    rules = load([file]).rules.values()
    options = {"hooks": {hook: {"argv": ["/bin/true"], "trusted": True}}}
    actions = [ScriptAction(ActionContext(name="site", options=options))] if hook else []
    if not refused:
        check_in_job(rules, actions)
        return
    with pytest.raises(ConfigError, match=r"rules.yaml:3.*gpu.lost.*in_job needs to see"):
        check_in_job(rules, actions)


SITE = ActionContext(
    name="site", options={"hooks": {"quarantine": {"argv": ["/bin/true"], "trusted": True}}}
)


class HoldsOrNot(ScriptAction):
    """An action that says whether it takes out single devices."""

    def __init__(self, holds: bool) -> None:
        super().__init__(SITE)
        self._holds = holds

    @property
    def quarantines_devices(self) -> bool:
        return self._holds


@pytest.mark.parametrize(
    ("level", "holds", "refused"),
    [
        ("device", (), True),
        ("device", (None,), True),
        ("device", (False,), True),
        ("device", (None, True), False),
        ("node", (None,), False),
    ],
)
def test_a_rule_is_refused_where_no_scheduler_takes_out_a_device(
    level: str, holds: tuple[bool | None, ...], refused: bool, tmp_path: Path
) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULE.replace("when: now}, job: {policy: %s}", f"level: {level}}}"))
    rules = load([file]).rules.values()
    actions = [ScriptAction(SITE) if one is None else HoldsOrNot(one) for one in holds]
    if not refused:
        check_devices(rules, actions)
        return
    with pytest.raises(ConfigError, match=r"rules.yaml:3.*gpu.lost.*device needs a scheduler"):
        check_devices(rules, actions)
