"""One of two schedulers of a node does not list its jobs: the node is not taken for empty."""

from accelwatch.action.intent import IntentKind
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import JOB, Ground


def test_no_reboot_while_nobody_knows_what_else_runs_there() -> None:
    ground = Ground()
    ground.nodes["n03"].jobs_missing = "cluster"
    ground.fault("n03")
    ground.end("n03")
    ground.wait(600)
    assert ground.kinds("n03") == [IntentKind.QUARANTINE]
    assert ground.stage("n03") in (Stage.QUARANTINED, Stage.DRAINING)
    ground.nodes["n03"].jobs_missing = ""
    ground.wait(30)
    assert ground.flying["n03"].kind is IntentKind.REBOOT


def test_a_job_that_is_listed_leaves_all_the_same() -> None:
    ground = Ground()
    ground.nodes["n03"].jobs, ground.nodes["n03"].jobs_missing = (JOB,), "cluster"
    ground.fault("n03")
    ground.end("n03")
    ground.wait(60)
    assert ground.stage("n03") is Stage.DRAINING
