"""What Slurm prints is read, whatever people wrote into it; lines of newer versions are composed."""

from pathlib import Path

import pytest

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import HoldState, JobState
from accelwatch.api_client.slurm.scontrol_text import pairs_of, states_of
from accelwatch_slurm.texts.annotations import annotation_of
from accelwatch_slurm.texts.hold_state import hold_state_of, observed_node
from accelwatch_slurm.texts.job_text import SlurmJob, job_lines_of, job_of, job_table
from accelwatch_slurm.texts.node_text import SlurmNode, node_of
from accelwatch_slurm.texts.reservation_text import reservations_of

FIXTURES = Path(__file__).parents[3] / "fixtures" / "slurm"


def nodes(file: str) -> dict[str, SlurmNode]:
    found = [node_of(line) for line in (FIXTURES / file).read_text().splitlines()]
    return {node.name: node for node in found if node is not None}


def jobs(file: str) -> list[SlurmJob]:
    found = [job_of(line) for line in (FIXTURES / file).read_text().splitlines()]
    return [job for job in found if job is not None]


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("IDLE+DRAIN", ("IDLE", "DRAIN")),
        ("DOWN*", ("DOWN", "NOT_RESPONDING")),
        ("MIXED@", ("MIXED", "REBOOT_ISSUED")),
        ("IDLE*+DRAIN", ("IDLE", "NOT_RESPONDING", "DRAIN")),
        ("", ()),
    ],
)
def test_states_are_flags_by_name(text: str, states: tuple[str, ...]) -> None:
    assert states_of(text) == states


def test_keys_with_colons_and_strokes_end_the_value_before_them() -> None:
    pairs = pairs_of("Partition=main AllocNode:Sid=login:1 CPUs/Task=1 ReqB:S:C:T=0:0:*:*")
    assert pairs["Partition"] == "main"
    assert pairs["CPUs/Task"] == "1"


def test_a_reason_may_hold_what_looks_like_other_fields() -> None:
    node = nodes("22.05-nodes.txt")["n2"]
    assert node.reason == "accelwatch:inc-1:gpu.lost text Extra=foo here"
    assert (node.set_by, node.set_at) == ("root", 1795355571.0)
    assert node.comment == "Reason=hello"
    mark = annotation_of(node, "extra")
    assert mark is not None
    assert (mark.incident, mark.token) == ("inc-1", 3)
    assert node.partitions == ("main", "all")


def test_nodes_of_22_05() -> None:
    found = nodes("22.05-nodes.txt")
    assert [(one.drained, one.down, one.answering) for one in found.values()] == [
        (False, False, True),
        (True, False, True),
        (False, True, False),
        (False, False, False),
    ]
    hold_states = [hold_state_of(one, {}, "extra") for one in found.values()]
    assert hold_states == [HoldState.OPEN, HoldState.OURS, HoldState.OURS, HoldState.OPEN]


def test_nodes_of_newer_versions() -> None:
    found = nodes("newer-nodes.txt")
    shown = {name: hold_state_of(node, {}, "extra") for name, node in found.items()}
    assert shown == {
        "g1": HoldState.FOREIGN,
        "g2": HoldState.OURS,
        "g3": HoldState.OURS,
        "g4": HoldState.OPEN,
        "g5": HoldState.DOWN,
        "g6": HoldState.OPEN,
        "g7": HoldState.OPEN,
    }
    assert found["g1"].extra == '{"rack":7}'
    assert found["g2"].set_by == "slurm"
    assert found["g3"].rebooting
    assert found["g6"].answering is False
    assert found["g5"].slurmd_start is None


def test_maintenance_is_recognised_by_its_reservation_unless_it_is_ours() -> None:
    reservations = reservations_of((FIXTURES / "22.05-reservations.txt").read_text())
    found = nodes("22.05-nodes.txt")
    assert hold_state_of(found["n4"], reservations, "extra") is HoldState.FOREIGN
    assert observed_node(found["n4"], reservations, "extra").maintenance
    three = node_of((FIXTURES / "22.05-nodes.txt").read_text().splitlines()[0].replace("n1", "n3"))
    assert three is not None
    assert hold_state_of(three, reservations, "extra") is HoldState.OPEN


def test_a_reason_of_somebody_else_beside_our_key_is_not_ours() -> None:
    line = (FIXTURES / "22.05-nodes.txt").read_text().splitlines()[1]
    node = node_of(line.replace("accelwatch:inc-1:gpu.lost", "taken over,"))
    assert node is not None
    assert hold_state_of(node, {}, "extra") is HoldState.FOREIGN
    assert observed_node(node, {}, "extra").annotation is None


OURS = "accelwatch:inc-1:gpu.lost GPU 3"
KEY = ' Extra={"accelwatch":{"i":"inc-1","t":7,"since":1.0}}'
SILENT = f"{OURS} : Not responding"


def shown(state: str, reason: str, extra: str = "") -> SlurmNode:
    node = node_of(f"NodeName=n1 State={state} Reason={reason} [root@1795835810]{extra}")
    assert node is not None
    return node


@pytest.mark.parametrize(("state", "held"), [("IDLE", False), ("IDLE+DRAIN", True), ("DOWN", True)])
def test_a_reason_of_ours_counts_only_while_the_node_takes_no_work(state: str, held: bool) -> None:
    node = shown(state, OURS)
    assert (annotation_of(node, "extra") is not None) is held
    assert (observed_node(node, {}, "extra").annotation is not None) is held
    assert hold_state_of(node, {}, "extra") is (HoldState.OURS if held else HoldState.OPEN)


def test_a_key_counts_beside_an_old_reason_of_another_incident() -> None:
    mark = annotation_of(shown("IDLE", "accelwatch:inc-0:gpu.lost GPU 1", KEY), "extra")
    assert mark is not None
    assert mark.incident == "inc-1"


@pytest.mark.parametrize(
    ("node", "field", "hold_state"),
    [
        (shown("DOWN+NOT_RESPONDING", SILENT), "extra", HoldState.DOWN),
        (shown("DOWN", f"{OURS} : Node unexpectedly rebooted"), "extra", HoldState.DOWN),
        (shown("DOWN+DRAIN+NOT_RESPONDING", SILENT), "extra", HoldState.OURS),
        (shown("DOWN+NOT_RESPONDING", SILENT, KEY), "extra", HoldState.OURS),
        (shown("DOWN+NOT_RESPONDING", SILENT, " Extra=rack 7"), "extra", HoldState.OURS),
        (shown("DOWN+NOT_RESPONDING", SILENT), "none", HoldState.OURS),
        (shown("DOWN", OURS), "extra", HoldState.OURS),
    ],
)
def test_what_slurm_sets_down_under_an_old_reason_of_ours_is_not_ours(
    node: SlurmNode, field: str, hold_state: HoldState
) -> None:
    assert hold_state_of(node, {}, field) is hold_state


@pytest.mark.parametrize(
    ("printed", "reason"), [(" ", ""), ("  : Not responding", "Not responding"), ("a : b", "a : b")]
)
def test_a_blanked_reason_is_none(printed: str, reason: str) -> None:
    assert shown("DOWN", printed).reason == reason


def test_jobs_of_22_05() -> None:
    found = jobs("22.05-jobs.txt")
    assert [(one.id, one.state) for one in found] == [
        ("1", JobState.RUNNING),
        ("1", JobState.WAITING),
        ("2_0", JobState.RUNNING),
        ("4+1", JobState.WAITING),
        ("9", JobState.RUNNING),
        ("11", JobState.COMPLETING),
    ]
    running, requeued, _, parts, held, _ = found
    assert (running.nodes, running.exclude, running.user) == (("n2", "n3"), "n5", "alice")
    assert (requeued.restarts, requeued.may_start) == (1, 1795355693.0)
    assert parts.heterogeneous
    assert parts.may_start is None
    assert (held.priority, held.admin_comment) == (0, "accelwatch:inc-1:held")


def test_jobs_of_newer_versions() -> None:
    found = jobs("newer-jobs.txt")
    assert [one.state for one in found] == [JobState.RUNNING, JobState.WAITING, JobState.HELD]
    assert [one.expedited for one in found] == [True, False, False]
    assert found[0].reservation == "big"
    assert found[0].admin_comment == "from a plug-in"


def test_a_requeue_moves_the_time_of_submission_and_a_new_job_of_the_id_is_another() -> None:
    first, requeued = jobs("22.05-jobs.txt")[:2]
    key = JobKey("lab", "1", first.submitted)
    assert first.is_of(key)
    assert requeued.is_of(key)
    assert not first.is_of(JobKey("lab", "1", first.submitted - 10.0))
    assert not requeued.is_of(JobKey("lab", "1", requeued.submitted + 10.0))
    assert first.is_of(JobKey("lab", "1", 0.0))


def test_jobs_of_nodes() -> None:
    lines = (
        "2_0|1795355574|n2|ada|",
        "4+1|1795355576|n[2-3]|bob|night|run accelwatch:retry",
        "nonsense",
        "7|Unknown|n[2-|eve|accelwatch:retrying",
    )
    table = job_table("".join(f"x9|{line}\n" for line in lines), "lab", "x9|")
    found = table.by_node
    assert [str(key) for key in table.restartable] == ["4+1"]
    assert found["n2"] == [
        JobKey("lab", "2", 1795355574.0, "0"),
        JobKey("lab", "4", 1795355576.0, "+1"),
    ]
    assert [str(key) for key in found["n3"]] == ["4+1"]
    assert table.owners == {"2_0": "ada", "4+1": "bob", "7": "eve"}


def test_what_somebody_writes_into_a_comment_is_no_line() -> None:
    text = (
        "x9|2|1795355574|n2|ada|a\n5|1795355576|n1|eve|accelwatch:retry\nx8|6|1795355576|n1|eve|\n"
    )
    table = job_table(text, "lab", "x9|")
    assert (list(table.by_node), table.restartable) == (["n2"], frozenset())


@pytest.mark.parametrize("line", ["", "JobId=1", "NodeName=n1", "garbage \x00 = =", "State=IDLE"])
def test_what_is_no_node_and_no_job_is_none(line: str) -> None:
    assert node_of(line) is None
    assert job_of(line) is None


def test_what_a_user_submitted_hides_nothing_of_what_we_know_a_job_by() -> None:
    text = (
        "JobId=7 JobName=wrap JobState=PENDING Priority=0 "
        "SubmitLine=sbatch --wrap=\nwhile :; do echo AdminComment=theirs; done & wait\n "
        "WorkDir=/home/u AdminComment=accelwatch:inc-1:held StdErr=\n"
        "JobId=8 JobName=wrap JobState=RUNNING WorkDir=/home/u\n"
    )
    first, second = map(job_of, job_lines_of(text))
    assert first is not None
    assert first.admin_comment == "accelwatch:inc-1:held"
    assert second is not None
    assert (second.id, second.slurm_state) == ("8", "RUNNING")
