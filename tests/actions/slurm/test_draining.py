"""Many drains that come together: each as if it were alone, by one look and one command."""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Committed, Report, ReportStatus, Step, stands
from accelwatch.system.processes.command import CommandResult
from accelwatch_slurm.commands.commands import Commands, NotStartedError, started_lines
from accelwatch_slurm.commands.options import SlurmOptions
from accelwatch_slurm.commands.reading import Reader
from accelwatch_slurm.effects.draining import Drains, line_of
from accelwatch_slurm.texts.node_text import SlurmNode
from support.processes.shell_scripts import script
from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import WorkingSlurm

MARK = OwnerAnnotation("inc-1", 1)


def committed(number: int = 1, withdrawn: Callable[[], str] = stands) -> Committed:
    return Committed(
        operation=f"op-{number}",
        attempt=1,
        annotation=MARK,
        deadline=time.time() + 60,
        withdrawn=withdrawn,
    )


class Controller:
    """What a batch reads and writes, held by a test."""

    def __init__(self, *answers: CommandResult | Exception) -> None:
        self.answers = list(answers)
        self.lines: list[list[str]] = []
        self.looks = 0
        self.hold = asyncio.Event()
        self.hold.set()

    async def nodes_now(self) -> dict[str, SlurmNode]:
        self.looks += 1
        await self.hold.wait()
        return {f"n{at}": SlurmNode(name=f"n{at}", states=("IDLE",)) for at in range(200)}

    in_a_rush = True

    async def all_of(self, lines: Sequence[str], break_off: Callable[[], bool]) -> CommandResult:
        if break_off():
            raise NotStartedError
        self.lines.append(list(lines))
        answer = self.answers.pop(0) if self.answers else CommandResult(status=0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def drains(self) -> Drains:
        return Drains(cast("Commands", self), cast("Reader", self), words)


def words(node: SlurmNode | None, step: Step, operation: Committed) -> list[str] | Report:
    assert node is not None
    if node.name == "n7":
        raise ChangedError("held by somebody else")
    if node.name == "n8":
        return Report(status=ReportStatus.DONE, text="it is drained already")
    reason = "it's gone" if node.name == "n9" else f"accelwatch:{operation.operation}:rule a title"
    return [f"nodename={node.name}", "state=drain", f"reason={reason}"]


def step(node: str) -> Step:
    return Step(kind="drain", arguments={"node": node})


async def all_drained(drains: Drains, *nodes: str) -> list[Any]:
    each = (drains.together(step(node), committed(at)) for at, node in enumerate(nodes))
    return await asyncio.gather(*each, return_exceptions=True)


def test_a_drain_gathers_while_another_is_under_way_alone_or_with_others() -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.in_a_rush = False
        drains = controller.drains()
        assert not drains.gather
        with drains.alone():
            assert drains.gather
        assert not drains.gather
        controller.hold.clear()
        first = asyncio.create_task(drains.together(step("n1"), committed()))
        await asyncio.sleep(0)
        assert drains.gather
        controller.hold.set()
        await first
        assert not drains.gather
        controller.in_a_rush = True
        assert drains.gather

    asyncio.run(scenario())


def test_who_comes_meanwhile_is_part_of_the_next() -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.hold.clear()
        drains = controller.drains()
        first = asyncio.create_task(drains.together(step("n1"), committed()))
        await asyncio.sleep(0)
        rest = asyncio.create_task(all_drained(drains, "n2", "n3", "n4"))
        await asyncio.sleep(0)
        controller.hold.set()
        assert await first == Report(status=ReportStatus.DONE)
        assert [one.status for one in await rest] == [ReportStatus.DONE] * 3
        assert [len(lines) for lines in controller.lines] == [1, 3]
        assert controller.looks == 2, "each is decided upon by what was read after it had come"

    asyncio.run(scenario())


def test_each_is_decided_upon_by_itself() -> None:
    async def scenario() -> None:
        controller = Controller()
        drains = controller.drains()
        one, changed, done, alone = await all_drained(drains, "n2", "n7", "n8", "n9")
        assert one == Report(status=ReportStatus.DONE)
        assert isinstance(changed, ChangedError)
        assert done.text == "it is drained already"
        assert alone is None, "its reason has a sign that means something in a line"
        assert [line.split()[1] for lines in controller.lines for line in lines] == ["nodename=n2"]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (CommandResult(status=1, errors=b"slurm_update error: Invalid node name specified"), None),
        (CommandResult(status=1, errors=b"Unable to contact slurm controller"), None),
        (CommandResult(status=1, errors=b"Socket timed out on send/recv"), ReportStatus.UNKNOWN),
        (CommandResult(failure="timeout"), ReportStatus.UNKNOWN),
    ],
)
def test_a_failure_is_unknown_to_all_or_has_each_done_alone(
    answer: CommandResult, status: ReportStatus | None
) -> None:
    async def scenario() -> None:
        reports = await all_drained(Controller(answer).drains(), "n1", "n2", "n3")
        assert [None if one is None else one.status for one in reports] == [status] * 3

    asyncio.run(scenario())


def test_a_controller_that_is_away_is_reported_to_each() -> None:
    async def scenario() -> None:
        away = Controller(ActionUnavailableError("away"))
        reports = await all_drained(away.drains(), "n1", "n2")
        assert [str(one) for one in reports] == ["away", "away"]
        assert all(isinstance(one, ActionUnavailableError) for one in reports)

    asyncio.run(scenario())


def test_who_gives_up_before_his_turn_is_not_drained() -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.hold.clear()
        drains = controller.drains()
        leads = asyncio.create_task(drains.together(step("n1"), committed()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        gives_up = asyncio.create_task(drains.together(step("n2"), committed()))
        stays = asyncio.create_task(drains.together(step("n3"), committed()))
        await asyncio.sleep(0)
        gives_up.cancel()
        controller.hold.set()
        assert {*await asyncio.gather(leads, stays)} == {Report(status=ReportStatus.DONE)}
        assert [line.split()[1] for lines in controller.lines for line in lines] == [
            "nodename=n1",
            "nodename=n3",
        ]

    asyncio.run(scenario())


def test_where_the_one_that_does_it_is_cut_off_nobody_knows_and_nobody_waits() -> None:
    async def scenario() -> None:
        controller = Controller()
        controller.hold.clear()
        drains = controller.drains()
        leads = asyncio.create_task(drains.together(step("n1"), committed()))
        beside = asyncio.create_task(drains.together(step("n2"), committed()))
        for _ in range(3):
            await asyncio.sleep(0)
        leads.cancel()
        reports = await beside
        assert reports is not None
        assert reports.status is ReportStatus.UNKNOWN

    asyncio.run(scenario())


STOPPED = "everything is stopped by ada"
NOT_STARTED = Report(status=ReportStatus.NOT_STARTED, text=STOPPED)


def test_who_waits_in_a_queue_when_everything_is_stopped_is_not_drained() -> None:
    async def scenario() -> None:
        controller, stop = Controller(), [""]
        controller.hold.clear()
        drains = controller.drains()

        def drain(at: int) -> "asyncio.Task[Report | None]":
            operation = committed(at, lambda: stop[0])
            return asyncio.create_task(drains.together(step(f"n{at}"), operation))

        reads = drain(1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waits = [drain(at) for at in (2, 3, 4)]
        await asyncio.sleep(0)
        stop[0] = STOPPED
        controller.hold.set()
        assert await asyncio.gather(reads, *waits) == [NOT_STARTED] * 4
        assert (controller.lines, controller.looks) == ([], 1)

    asyncio.run(scenario())


def test_one_that_is_withdrawn_is_left_out_of_the_command() -> None:
    async def scenario() -> None:
        controller = Controller()
        drains = controller.drains()
        both = (
            drains.together(step("n1"), committed(1, lambda: STOPPED)),
            drains.together(step("n2"), committed(2)),
        )
        assert [*await asyncio.gather(*both)] == [NOT_STARTED, Report(status=ReportStatus.DONE)]
        assert [line.split()[1] for lines in controller.lines for line in lines] == ["nodename=n2"]

    asyncio.run(scenario())


def test_a_command_that_is_broken_off_says_which_of_its_lines_it_had_read() -> None:
    lines = [f"update nodename=n{at} state=drain" for at in range(4)]
    killed = CommandResult(failure="broken off", output=b"scontrol: " + lines[0].encode() + b"\n")
    assert started_lines(lines, killed) == 1
    prompt = CommandResult(failure="broken off", output=killed.output + b"scontrol: ")
    assert started_lines(lines, prompt) == 2, "the next one may have been read by then"
    for output in (b"", b"scontrol: ", b"scontrol: scontrol: "):
        mute = CommandResult(failure="broken off", output=output)
        assert started_lines(lines, mute) == 4, (
            "built without readline it prints nothing of what it reads"
        )


SLOW = """
if [ $# -gt 0 ]; then
  for at in 1 2 3 4 5; do echo "NodeName=n$at State=IDLE"; done
  exit 0
fi
while IFS= read -r line; do
  echo "scontrol: $line"
  case $line in *nodename=*) echo "$line" >> {log} ;; esac
  case $line in *nodename=n2*) touch {second}; sleep 60 ;; esac
done
"""


def test_a_batch_is_broken_off_in_the_middle(tmp_path: Path) -> None:
    log, second = tmp_path / "log", tmp_path / "second"
    script(
        tmp_path / "bin" / "scontrol",
        SLOW.replace("{log}", str(log)).replace("{second}", str(second)),
    )
    commands = Commands(SlurmOptions(commands=str(tmp_path / "bin")))

    def withdrawn() -> str:
        return STOPPED if second.exists() else ""

    async def scenario() -> list[Report | None]:
        drains = Drains(commands, Reader(commands), words)
        each = (drains.together(step(f"n{at}"), committed(at, withdrawn)) for at in range(1, 6))
        return await asyncio.gather(*each)

    reports = asyncio.run(scenario())
    commands.close()
    statuses = [None if one is None else one.status for one in reports]
    assert statuses[0] is ReportStatus.UNKNOWN, "what may have happened is looked at"
    assert reports[-1] == NOT_STARTED
    drained = [line.split()[1] for line in log.read_text().splitlines()]
    assert drained == ["nodename=n1", "nodename=n2"]
    assert statuses[: len(drained)] == [ReportStatus.UNKNOWN] * 2
    assert set(statuses[3:]) == {ReportStatus.NOT_STARTED}


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("reason=accelwatch:i1:low a b", 'update reason="accelwatch:i1:low a b"'),
        ("reason=it's", None),
        ('reason=a "b"', None),
        ("reason=a\nupdate nodename=all state=down", None),
        ("reason=a\\", None),
        ('extra={"accelwatch":{"i":"i1","t":1}}', 'update extra={"accelwatch":{"i":"i1","t":1}}'),
        ('extra={"a":"it is"}', 'update extra={"a":"it is"}'),
        ('extra={"a":"it\'s"}', None),
        ('extra={"a', None),
        ("extra={} state=down", None),
        ("comment=x", None),
        ("nodename=n1 state=down", None),
    ],
)
def test_only_words_without_a_meaning_of_their_own_are_put_into_a_line(
    word: str, line: str | None
) -> None:
    assert line_of([word]) == line


def test_on_a_real_slurm_each_has_its_own_reason_and_mark_and_others_are_left_alone(
    slurm: WorkingSlurm, hand: Callable[..., Hand]
) -> None:
    one = hand()
    slurm.scontrol("update", "node=n2", 'extra={"rack":"row 7"}')

    async def scenario() -> list[Report]:
        action = one.action
        wanted = [one.intent(IntentKind.QUARANTINE, f"n{at}", f"inc-{at}") for at in (1, 2, 3, 4)]
        steps = [action.propose(each, await action.observe(each)) for each in wanted]
        await asyncio.gather(*(action.observe(wanted[0]) for _ in range(40)))
        slurm.scontrol("update", "node=n3", "state=drain", "reason=fan broken")
        return await asyncio.gather(
            *(done(each, step) for each, step in zip(wanted, steps, strict=True))
        )

    async def done(wanted: Intent, step: object) -> Report:
        assert isinstance(step, Step)
        operation = Committed(
            operation="op", attempt=1, annotation=wanted.mark, deadline=wanted.deadline
        )
        return await one.action.perform(step, operation)

    reports = asyncio.run(scenario())
    assert [each.status for each in reports] == [
        ReportStatus.DONE,
        ReportStatus.DONE,
        ReportStatus.RETRY,
        ReportStatus.DONE,
    ]
    assert "fan broken" in reports[2].text
    seen = {each.name: each for each in asyncio.run(one.action.observe_all())}
    for at in (1, 2, 4):
        assert seen[f"n{at}"].hold_state is HoldState.OURS
        assert seen[f"n{at}"].annotation == OwnerAnnotation(f"inc-{at}", 1)
        assert seen[f"n{at}"].reason == one_alone(one, at)
    assert seen["n3"].hold_state is HoldState.FOREIGN
    assert '"rack":"row 7"' in slurm.node("n2")


def test_a_real_scontrol_prints_each_line_as_it_reads_it(
    slurm: WorkingSlurm, hand: Callable[..., Hand]
) -> None:
    lines = [f'update nodename=n{at} state=drain reason="{"long " * 40}"' for at in (1, 2)]
    commands = hand().action._commands
    result = asyncio.run(commands.all_of(lines, lambda: False))
    prompts = [match.start() for match in re.finditer(rb"^scontrol: ", result.output, re.MULTILINE)]
    assert len(prompts) == 3, "the third is for quit"
    killed = CommandResult(failure="broken off", output=result.output[: prompts[1]])
    assert started_lines(lines, killed) == 1, (
        "a build without readline prints nothing of what it reads"
    )
    assert "DRAIN" in slurm.node("n2")


def one_alone(hand: Hand, at: int) -> str:
    """The reason that a drain of its own sets."""
    hand.pursue(IntentKind.QUARANTINE, "n5", incident=f"inc-{at}", asked=float(at))
    reason = {each.name: each for each in asyncio.run(hand.action.observe_all())}["n5"].reason
    hand.slurm.scontrol("update", "node=n5", "state=undrain", "extra=")
    return reason
