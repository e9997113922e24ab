"""What the lab's stand-in for a scheduler decides: its hooks, and when a job's next copy may begin."""

import msgspec
import pytest

from accelwatch_lab.cluster.stand_in.hook_documents import Call, Entity, Incident, RequestedJob
from accelwatch_lab.cluster.stand_in.hooks import HookRunner
from accelwatch_lab.cluster.stand_in.observation import job_document, node_document, observe
from accelwatch_lab.cluster.stand_in.state import ROUND_S, SchedulerState
from accelwatch_lab.cluster.stand_in.wire import Report

NOW = 1000.0


class Cluster:
    """SchedulerState, and daemons that do what they are told at once, unless they are silent."""

    def __init__(self) -> None:
        self.state = SchedulerState(("n1", "n2", "n3", "n4"), ("n4",), "ana")
        self.hooks = HookRunner(self.state)
        self.silent: set[str] = set()
        self.off: set[str] = set()
        self.now = NOW
        self.number = 0

    def reports(self) -> dict[str, Report]:
        """Of those that answer."""
        return {
            name: Report(
                time=self.now,
                number=orders.number,
                running=tuple(copy.name for copy in orders.copies),
            )
            for name, orders in self.state.orders.items()
            if name not in self.silent
        }

    def round(self, times: int = 1) -> None:
        """Seconds go by."""
        for _ in range(times):
            self.state.step(self.reports(), self.off.__contains__, self.now)
            self.now += ROUND_S

    def call(self, hook: str, node: str = "n1", **more: object) -> Call:
        """A call of a hook, each an operation of its own."""
        self.number += 1
        base = Call(
            hook=hook,
            incident=Incident(id="i1", rule="gpu.lost", reason="A GPU is lost"),
            entity=Entity(node=node),
            operation_id=f"op-{self.number}",
            fence=1,
        )
        return msgspec.structs.replace(base, **more)

    def act(self, hook: str, node: str = "n1", **more: object) -> str:
        """Carry a hook out; the status."""
        return self.hooks.act(self.call(hook, node, **more), self.now).status

    def seen(self, node: str = "n1") -> dict[str, object]:
        """What the observe hook says."""
        requested = self.call("observe", node, jobs=(RequestedJob(id="1"),))
        return observe(self.state, requested, self.off.__contains__)

    def job(self) -> tuple[object, object, object]:
        """State, nodes and restarts of the job."""
        job = job_document(self.state, "1")
        return job["state"], job["nodes"], job["restarts"]


@pytest.fixture
def cluster() -> Cluster:
    """One with a job over two nodes."""
    made = Cluster()
    made.round()
    assert made.state.submit(2, NOW) == "1"
    made.round()
    assert made.job() == ("running", ("n1", "n2"), 0)
    return made


def moved(cluster: Cluster, restarts: int = 0, run_on: tuple[str, ...] = ("n2", "n4")) -> str:
    requested = (RequestedJob(id="1", restart_count=restarts),)
    return cluster.act("move_job", jobs=requested, bad_nodes=("n1",), run_on=run_on)


def test_a_job_moves_to_the_requested_nodes_with_the_spare(cluster: Cluster) -> None:
    assert cluster.act("quarantine") == "ok"
    assert cluster.act("draw_spare", spare="n4") == "ok"
    assert moved(cluster) == "ok"
    assert cluster.job()[0] == "ending"
    cluster.round(4)
    assert cluster.job() == ("running", ("n2", "n4"), 1)
    assert [name for name, one in cluster.state.orders.items() if one.copies] == ["n2"]


def test_a_spare_that_is_not_drawn_gets_no_job(cluster: Cluster) -> None:
    cluster.act("quarantine")
    moved(cluster)
    cluster.round(4)
    assert cluster.job() == ("running", ("n2", "n3"), 1)


def test_a_job_waits_until_there_are_nodes_enough(cluster: Cluster) -> None:
    cluster.state.drain("n3", "new fans", "root", NOW)
    cluster.act("quarantine")
    moved(cluster)
    cluster.round(4)
    assert cluster.job() == ("waiting", (), 1)
    cluster.act("release")
    cluster.round()
    assert cluster.job() == ("running", ("n1", "n2"), 1)


def test_no_copy_starts_while_the_old_one_may_run(cluster: Cluster) -> None:
    cluster.act("quarantine")
    cluster.silent.add("n1")
    moved(cluster)
    cluster.round(5)
    assert cluster.job() == ("ending", ("n1", "n2"), 0)
    cluster.off.add("n1")
    cluster.round(5)
    # That nothing of it is seen is not enough: its power has to be taken.
    assert cluster.job() == ("ending", ("n1", "n2"), 0)
    cluster.off.remove("n1")
    assert cluster.act("fence") == "ok"
    cluster.round(5)
    assert cluster.job() == ("ending", ("n1", "n2"), 0)
    assert cluster.seen()["proven_dead"] is False
    cluster.off.add("n1")
    assert cluster.seen()["proven_dead"] is True
    cluster.round(4)
    assert cluster.job() == ("running", ("n2", "n3"), 1)


def test_a_report_from_before_the_orders_proves_nothing(cluster: Cluster) -> None:
    old = cluster.reports()
    cluster.act("quarantine")
    moved(cluster)
    for _ in range(4):
        cluster.state.step(old, cluster.off.__contains__, cluster.now)
        cluster.now += ROUND_S
    assert cluster.job()[0] == "ending"


def test_nothing_starts_on_a_node_without_power(cluster: Cluster) -> None:
    cluster.act("quarantine")
    cluster.act("fence")
    cluster.round()
    # Its daemon is back, and the job was not moved yet.
    assert cluster.state.orders["n1"].copies == ()
    cluster.act("release")
    cluster.round()
    assert cluster.state.orders["n1"].copies != ()


def test_only_a_node_that_is_held_for_it_is_fenced(cluster: Cluster) -> None:
    assert cluster.act("fence") == "refused"
    cluster.act("quarantine")
    assert cluster.act("fence", incident=Incident(id="i2")) == "refused"
    cluster.state.drain("n1", "mine", "root", NOW)
    assert cluster.act("fence") == "refused"


def test_what_a_person_holds_is_neither_taken_nor_released(cluster: Cluster) -> None:
    cluster.state.drain("n1", "mine", "root", NOW)
    assert cluster.act("quarantine") == "refused"
    assert cluster.act("release") == "ok"
    shown = node_document(cluster.state, "n1")
    assert (shown["standing"], shown["reason"], shown["set_by"]) == ("foreign", "mine", "root")


def test_a_person_takes_over_what_was_taken_out(cluster: Cluster) -> None:
    cluster.act("quarantine")
    shown = node_document(cluster.state, "n1")
    assert (shown["standing"], shown["reason"]) == ("ours", "accelwatch:i1:gpu.lost A GPU is lost")
    cluster.state.drain("n1", "mine", "root", NOW)
    assert node_document(cluster.state, "n1")["standing"] == "foreign"
    cluster.state.resume("n1")
    assert node_document(cluster.state, "n1")["standing"] == "open"


def test_an_operation_is_done_once(cluster: Cluster) -> None:
    cluster.act("quarantine")
    requested = (RequestedJob(id="1", restart_count=0),)
    call = cluster.call("move_job", jobs=requested, bad_nodes=("n1",), run_on=("n2", "n3"))
    assert cluster.hooks.act(call, NOW).status == "ok"
    cluster.round(4)
    assert cluster.hooks.act(call, NOW).status == "ok"
    cluster.round(4)
    assert cluster.job() == ("running", ("n2", "n3"), 1)


def test_a_job_that_has_restarted_meanwhile_is_left_alone(cluster: Cluster) -> None:
    moved(cluster)
    cluster.round(4)
    assert moved(cluster, restarts=0) == "refused"
    assert moved(cluster, restarts=1) == "ok"


def test_an_engine_that_was_replaced_is_refused(cluster: Cluster) -> None:
    assert cluster.act("quarantine", fence=2) == "ok"
    assert cluster.act("release", fence=1) == "refused"
    assert node_document(cluster.state, "n1")["standing"] == "ours"


@pytest.mark.parametrize(
    ("hook", "node"), [("quarantine", "n9"), ("reboot", "n1"), ("draw_spare", "n1")]
)
def test_what_is_not_known_is_refused(cluster: Cluster, hook: str, node: str) -> None:
    assert cluster.act(hook, node, spare="n2") == "refused"


def test_a_dry_run_changes_nothing(cluster: Cluster) -> None:
    assert cluster.act("quarantine", dry_run=True, fence=7) == "ok"
    assert node_document(cluster.state, "n1")["standing"] == "open"
    assert cluster.act("quarantine") == "ok"


def test_a_job_that_ends_by_itself_has_failed_and_one_that_is_cancelled_has_not(
    cluster: Cluster,
) -> None:
    reports = cluster.reports()
    reports["n1"] = msgspec.structs.replace(reports["n1"], running=(), exited=("1.0",))
    cluster.state.step(reports, cluster.off.__contains__, NOW)
    cluster.round(2)
    shown = job_document(cluster.state, "1")
    assert (shown["state"], shown["failed"], shown["nodes"]) == ("ended", True, ())
    other = cluster.state.submit(1, NOW)
    cluster.round()
    cluster.state.cancel(other)
    cluster.round(2)
    shown = job_document(cluster.state, other)
    assert (shown["state"], shown["failed"]) == ("ended", False)
    assert job_document(cluster.state, "9")["state"] == "missing"


def test_whether_a_spare_is_drawn_is_seen(cluster: Cluster) -> None:
    def achieved(wanted: str) -> object:
        call = cluster.call("observe", wanted=wanted, spare="n4")
        return observe(cluster.state, call, cluster.off.__contains__).get("achieved")

    assert (achieved("draw_spare"), achieved("return_spare")) == (False, True)
    cluster.act("draw_spare", spare="n4")
    assert (achieved("draw_spare"), achieved("return_spare")) == (True, False)
    cluster.act("return_spare", spare="n4")
    assert (achieved("draw_spare"), achieved("quarantine")) == (False, None)
