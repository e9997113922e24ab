"""The whole way of an intent over real programs: look, propose, call, look again."""

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
import pytest

from accelwatch.action.contract import Action, ActionUnavailableError
from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.observed import HoldState, JobState
from accelwatch.action.step import (
    Achieved,
    Proposal,
    Recovery,
    Refusal,
    RefusalKind,
    Report,
    ReportStatus,
    StartedStep,
    Step,
    Wait,
)
from accelwatch.base.clock import ManualClock
from accelwatch_script.process.command import MOST_KEPT
from accelwatch_script.references import HIDDEN, without, without_cut
from support.actions.hooks import JOB, MOVE, intent, operation, printing, program, script

OPEN = {"name": "n3", "standing": "open", "answering": True}
OURS = {"name": "n3", "standing": "ours", "mark": {"incident": "i7", "token": 3}}


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


async def proposed(made: Action, wanted: Intent) -> Proposal:
    return made.propose(wanted, await made.observe(wanted))


async def performed(made: Action, wanted: Intent, **changes: Any) -> Report:
    step = await proposed(made, wanted)
    assert isinstance(step, Step), step
    return await made.perform(step, operation(**changes))


def site(tmp_path: Path, text: str, seen: dict[str, Any], **hook: Any) -> dict[str, Any]:
    """One hook of quarantine, and an observer."""
    hooks = {"quarantine": {"argv": [program(tmp_path, text)], **hook}}
    return {"observe": {"argv": printing(tmp_path, **seen)}, "hooks": hooks}


def test_a_node_is_quarantined_when_that_is_seen(tmp_path: Path) -> None:
    ours = msgspec.json.encode({"node": OURS}).decode()
    text = f"cat > {tmp_path}/given; env > {tmp_path}/env; echo '{ours}' > {tmp_path}/observe.json"

    async def scenario() -> None:
        made = script(**site(tmp_path, text, {"node": OPEN}, env={"REGION": "west"}))
        assert (await performed(made, intent())).status is ReportStatus.DONE
        assert isinstance(await proposed(made, intent()), Achieved)
        await made.close()

    run(scenario())
    given = msgspec.json.decode((tmp_path / "given").read_bytes())
    assert given["version"] == 1
    assert (given["hook"], given["attempt_id"], given["fence"]) == ("quarantine", "op-1", 3)
    assert given["incident"] == {
        "id": "i7",
        "rule": "nvidia-xid-79",
        "severity": "critical",
        "reason": "Xid 79 on n3",
    }
    assert given["deadline"] == 1_800_000_060.0
    variables = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    assert variables["ACCELWATCH_NODE"] == "n3"
    assert variables["ACCELWATCH_OPERATION_ID"] == given["operation_id"]
    assert variables["ACCELWATCH_FENCE"] == "3"
    assert variables["REGION"] == "west"
    assert (variables["ACCELWATCH_HOOK"], variables["ACCELWATCH_DRY_RUN"]) == ("quarantine", "0")
    assert (variables["ACCELWATCH_ATTEMPT"], variables["ACCELWATCH_JOB_IDS"]) == ("1", "")
    assert "HOME" not in variables


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("trap '' TERM; sleep 3600 & while :; do sleep 0.05; done", ReportStatus.UNKNOWN),
        ("sleep 3600 & exit 0", ReportStatus.DONE),
        ("head -c 200000000 /dev/zero; exit 0", ReportStatus.DONE),
        ("exit 75", ReportStatus.RETRY),
        ("echo no >&2; exit 1", ReportStatus.REFUSED),
        ("kill -KILL $$", ReportStatus.UNKNOWN),
    ],
    ids=["deaf", "child holds the pipe", "floods", "later", "fails", "killed"],
)
def test_nothing_that_a_hook_does_hangs_or_crashes_us(
    tmp_path: Path, text: str, status: ReportStatus
) -> None:
    async def scenario() -> None:
        timeout = "500ms" if status is ReportStatus.UNKNOWN else "60s"
        made: Any = script(**site(tmp_path, text, {"node": OPEN}, timeout=timeout))
        made.hooks[IntentKind.QUARANTINE].kill_after_s = 0.1
        assert (await performed(made, intent())).status is status
        await made.close()

    run(scenario())


def test_ok_though_nothing_happened_is_not_achieved(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        made = script(clock, **site(tmp_path, "exit 0", {"node": OPEN}))
        assert (await performed(made, intent())).status is ReportStatus.DONE
        clock.advance(59.0)
        assert isinstance(await proposed(made, intent()), Wait)
        clock.advance(1.0)
        refusal = await proposed(made, intent())
        assert isinstance(refusal, Refusal)
        assert refusal.kind is RefusalKind.UNSAFE
        assert "not observed" in refusal.text

    run(scenario())


def test_a_word_is_forgotten_when_its_effect_is_seen(tmp_path: Path) -> None:
    """A node that was released in between is quarantined anew for the same incident."""

    async def scenario() -> None:
        made = script(**site(tmp_path, "exit 0", {"node": OPEN}))
        await performed(made, intent())
        printing(tmp_path, node=OURS)
        assert isinstance(await proposed(made, intent()), Achieved)
        printing(tmp_path, node=OPEN)
        assert isinstance(await proposed(made, intent()), Step)

    run(scenario())


def test_what_is_accepted_is_requested_by_the_same_hook(tmp_path: Path) -> None:
    (tmp_path / "first").write_text('{"status":"accepted","external_id":"t 9","poll_after":30}')
    (tmp_path / "then").write_text('{"status":"failed","message":"the rack is locked"}')
    text = (
        f'echo "$ACCELWATCH_POLL" >> {tmp_path}/polls; '
        f'[ -z "$ACCELWATCH_POLL" ] && cat {tmp_path}/first || cat {tmp_path}/then'
    )

    async def scenario() -> None:
        clock = ManualClock()
        made = script(clock, **site(tmp_path, text, {"node": OPEN}))
        report = await performed(made, intent())
        assert (report.status, report.reference, report.again_after_s) == (
            ReportStatus.ACCEPTED,
            "t 9",
            30.0,
        )
        clock.advance(29.0)
        assert await proposed(made, intent()) == Wait(30.0, "accepted: ")
        clock.advance(1.0)
        while isinstance(refusal := await proposed(made, intent()), Wait):
            await asyncio.sleep(0.01)
        assert isinstance(refusal, Refusal)
        assert refusal.text == "the hook refused: the rack is locked"
        assert (tmp_path / "polls").read_text() == "\nt 9\n"

    run(scenario())


@pytest.mark.parametrize(("declared", "count"), [(True, 1), (False, 0)])
def test_a_dry_run_is_for_hooks_that_know_it(tmp_path: Path, declared: bool, count: int) -> None:
    text = f'echo "$ACCELWATCH_DRY_RUN" >> {tmp_path}/runs'

    async def scenario() -> None:
        made = script(**site(tmp_path, text, {"node": OPEN}, dry_run=declared))
        report = await performed(made, intent(), dry_run=True)
        assert report.status is ReportStatus.DONE
        assert report.text.startswith("dry run: ") is not declared
        # Nothing was done, so nothing is waited for.
        assert isinstance(await proposed(made, intent()), Step)

    run(scenario())
    runs = tmp_path / "runs"
    assert (runs.read_text() if runs.exists() else "") == "1\n" * count


def test_a_program_that_others_can_change_is_not_run(tmp_path: Path) -> None:
    async def scenario() -> None:
        options = site(tmp_path, f"touch {tmp_path}/ran", {"node": OPEN})
        made = script(**options)
        Path(options["hooks"]["quarantine"]["argv"][0]).chmod(0o777)
        report = await performed(made, intent())
        assert report.status is ReportStatus.REFUSED
        assert "chmod go-w it" in report.text
        assert not (tmp_path / "ran").exists()

    run(scenario())


def test_secrets_are_hidden_wherever_a_hook_prints_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    (tmp_path / "secret").write_text("hunter22\n")
    text = 'echo "token is $API_TOKEN" >&2; echo "used $API_TOKEN"; exit 1'

    async def scenario() -> None:
        env = {"API_TOKEN": f"file:{tmp_path}/secret"}
        made = script(**site(tmp_path, text, {"node": OPEN}, env=env))
        report = await performed(made, intent())
        assert report.text == "exit 1: token is <hidden>"

    run(scenario())
    assert "token is <hidden>" in caplog.text
    assert "hunter22" not in caplog.text


ODD = 's3cr"t-To\\ken-99'
ACCEPTED = """#!/usr/bin/env python3
import os
word = os.environ["API_TOKEN"]
{quoted}
print('{{"status": "accepted", "message": "' + "z" * 492 + word + '", "external_id": "j-' + word + '"}}')
"""


def spoken(tmp_path: Path, secret: str, text: str) -> Report:
    """What a hook with a secret tells of its step."""
    (tmp_path / "secret").write_text(secret)
    report: list[Report] = []

    async def scenario() -> None:
        env = {"API_TOKEN": f"file:{tmp_path}/secret", "PATH": "/usr/bin:/bin"}
        made = script(**site(tmp_path, text, {"node": OPEN}, env=env))
        report.append(await performed(made, intent()))

    run(scenario())
    return report[0]


@pytest.mark.parametrize(
    "quoted",
    [
        "import json; word = json.dumps(word)[1:-1]",
        "word = ''.join(f'\\\\u{ord(letter):04x}' for letter in word)",
    ],
)
def test_a_secret_that_json_writes_otherwise_is_hidden(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, quoted: str
) -> None:
    """Also where the text is cut in the middle of it; a reference with it is none."""
    caplog.set_level("INFO")
    report = spoken(tmp_path, ODD, ACCEPTED.format(quoted=quoted))
    assert report.status is ReportStatus.ACCEPTED
    assert report.text == "z" * 492 + "<hidden>"
    assert report.reference == ""
    assert "s3cr" not in caplog.text


# What URLs, Python and JSON each write in a way of their own.
FOREIGN = "p/w+d é'\"\\&=~x"


@pytest.mark.parametrize(
    "printed",
    [
        FOREIGN,
        quote(FOREIGN),
        quote(FOREIGN, safe=""),
        quote_plus(FOREIGN),
        quote(FOREIGN, safe="!'()*"),
        "p%2fw%2bd%20%c3%a9%27%22%5c%26%3d~x",
        quote(FOREIGN, safe="/:?=&+,;@$!'()*"),
        repr(FOREIGN)[1:-1],
        ascii(FOREIGN)[1:-1],
        repr(FOREIGN.encode())[2:-1],
        json.dumps(FOREIGN)[1:-1],
        json.dumps(FOREIGN, ensure_ascii=False)[1:-1],
    ],
)
def test_a_secret_is_hidden_in_whatever_way_it_is_written(printed: str) -> None:
    text = f"cannot open https://h/x?key={printed}!"
    assert without([FOREIGN], text) == f"cannot open https://h/x?key={HIDDEN}!"
    for left in (1, 5):
        assert without_cut([FOREIGN], f"{printed[-left:]}\nwell".encode()) == b"\nwell"


def test_a_short_secret_hides_no_letters_of_words() -> None:
    assert without(["abc"], "abcdef %61bc") == "abcdef %61bc"


@pytest.mark.parametrize("left", [1, 5, len(ODD) - 1])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_secret_of_which_only_the_end_was_kept_is_hidden(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, stream: str, left: int
) -> None:
    caplog.set_level("INFO")
    kept = MOST_KEPT - left
    text = f"""#!/usr/bin/env python3
import os, sys
sys.{stream}.write("x" * 100 + os.environ["API_TOKEN"] + "y" * {kept})
sys.exit({int(stream == "stderr")})
"""
    report = spoken(tmp_path, ODD, text)
    assert set(report.text.removeprefix("exit 1: ")) == {"y"}
    assert not any(ODD[-left:] + "y" in line for line in caplog.text.splitlines())


def test_the_last_output_counts_though_a_long_secret_may_have_been_cut(tmp_path: Path) -> None:
    text = """#!/usr/bin/env python3
print("x" * 70_000)
print('{"status": "failed", "message": "no such rack"}')
"""
    report = spoken(tmp_path, "k" * 30_000, text)
    assert (report.status, report.text) == (ReportStatus.REFUSED, "no such rack")


def test_who_looks_is_logged_when_it_fails_and_is_well_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    async def scenario() -> None:
        made = script(**site(tmp_path, "exit 0", {"node": OPEN}))
        good = (tmp_path / "observe.json").read_bytes()
        for report in (good, good, None, None, good, good):
            if report is None:
                (tmp_path / "observe.json").unlink(missing_ok=True)
                with pytest.raises(ActionUnavailableError):
                    await made.observe(intent())
            else:
                (tmp_path / "observe.json").write_bytes(report)
                await made.observe(intent())

    run(scenario())
    lines = [line for line in caplog.text.splitlines() if "hook=observe status=" in line]
    assert [line.partition("status=")[2].partition(" ")[0] for line in lines] == ["refused", "done"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("exit 1", "observe: exit 1"),
        ("exit 0", "observe: it printed no JSON object"),
        ('echo \'{"node": {"name": "n4", "standing": "open"}}\'', "answered for n4"),
        ('echo \'{"node": {"name": "n3", "standing": "odd"}}\'', "odd"),
        ('echo \'{"job": {"id": "43", "state": "running"}}\'', "answered for 43"),
        ("sleep 3600", "observe: not done after 0.3 s"),
    ],
)
def test_an_observer_that_cannot_say_leaves_nothing_known(
    tmp_path: Path, answer: str, text: str
) -> None:
    async def scenario() -> None:
        options = site(tmp_path, "exit 0", {})
        options["observe"] = {"argv": [program(tmp_path, answer, "look")], "timeout": "300ms"}
        made: Any = script(**options)
        made.observer.kill_after_s = 0.1
        with pytest.raises(ActionUnavailableError) as caught:
            await made.observe(intent(job=JOB))
        assert text in str(caught.value)

    run(scenario())


def test_without_an_observer_nothing_is_seen(tmp_path: Path) -> None:
    async def scenario() -> None:
        hook = {"argv": [program(tmp_path, "echo opened T-1")], "trusted": True}
        made = script(hooks={"service": hook})
        wanted = intent(kind=IntentKind.SERVICE)
        assert (await performed(made, wanted)).status is ReportStatus.DONE
        done = await proposed(made, wanted)
        assert isinstance(done, Achieved)
        assert done.text == "reported by the hook, which is trusted: opened T-1"
        assert await made.observe_all() == ()

    run(scenario())


def moving(tmp_path: Path, **job: Any) -> dict[str, Any]:
    seen = {"id": "42", "state": "running", "nodes": ["n2", "n3"], "requeueable": True, **job}
    return {"node": OPEN, "job": seen, "checkpoint": f"{tmp_path}/step-900"}


def test_a_move_knows_nodes_spare_and_checkpoint(tmp_path: Path) -> None:
    async def scenario() -> None:
        hooks = {"move_job": {"argv": [program(tmp_path, f"cat > {tmp_path}/given")]}}
        observe = {"argv": printing(tmp_path, **moving(tmp_path, user="ann", restarts=2))}
        made = script(observe=observe, hooks=hooks)
        wanted = intent(**MOVE)
        observed = await made.observe(wanted)
        assert observed.job is not None
        assert (observed.job.key, observed.job.state) == (JOB, JobState.RUNNING)
        assert (await performed(made, wanted)).status is ReportStatus.DONE

    run(scenario())
    given = msgspec.json.decode((tmp_path / "given").read_bytes())
    assert given["run_on"] == ["n2", "n9"]
    assert (given["bad_nodes"], given["spare"]) == (["n3"], "n9")
    assert given["precondition"] == {"restarts": "2", "nodes": "n2,n3"}
    (job,) = given["jobs"]
    assert (job["id"], job["user"], job["restart_count"]) == ("42", "ann", 2)
    assert job["checkpoint"] == f"{tmp_path}/step-900"


def test_a_move_is_not_started_when_the_job_has_restarted_since(tmp_path: Path) -> None:
    async def scenario() -> None:
        hooks = {"move_job": {"argv": [program(tmp_path, f"touch {tmp_path}/ran")]}}
        observe = {"argv": printing(tmp_path, **moving(tmp_path))}
        made = script(observe=observe, hooks=hooks)
        step = await proposed(made, intent(**MOVE))
        assert isinstance(step, Step)
        printing(tmp_path, **moving(tmp_path, restarts=1))
        report = await made.perform(step, operation())
        assert report.status is ReportStatus.REFUSED
        assert report.text == "restarts was '0' and is '1': not called"
        (tmp_path / "observe.json").write_text("none")
        assert (await made.perform(step, operation())).status is ReportStatus.RETRY
        assert not (tmp_path / "ran").exists()
        started_step = StartedStep(step=step, started=None)
        printing(tmp_path, **moving(tmp_path))
        observed = await made.observe(intent(**MOVE))
        assert made.recover(started_step, observed) is Recovery.REDO

    run(scenario())


def test_another_job_of_the_same_number_is_not_ours(tmp_path: Path) -> None:
    async def scenario() -> None:
        hooks = {"move_job": {"argv": ["/bin/true"]}}
        observe = {"argv": printing(tmp_path, **moving(tmp_path, submitted=1_800_000_500.0))}
        refusal = await proposed(script(observe=observe, hooks=hooks), intent(**MOVE))
        assert isinstance(refusal, Refusal)
        assert refusal.text == "the job is missing: its number is another job's now"

    run(scenario())


def test_all_nodes_at_once(tmp_path: Path) -> None:
    jobs = ["7", {"id": "8", "cluster": "west", "submitted": 9.0, "retry": True}]
    nodes = [
        {"name": f"node-{number:04d}", "standing": "open", "jobs": jobs} for number in range(2000)
    ]

    async def scenario() -> None:
        options = site(tmp_path, "exit 0", {"node": OPEN})
        made = script(**options, survey={"argv": printing(tmp_path, "survey", nodes=nodes)})
        seen = await made.observe_all()
        assert len(seen) == 2000
        assert {one.hold_state for one in seen} == {HoldState.OPEN}
        assert seen[0].jobs == (JobKey("", "7", 0.0), JobKey("west", "8", 9.0))
        assert seen[0].restartable == {JobKey("west", "8", 9.0)}

    run(scenario())


def test_a_step_of_somebody_else_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        made = script(**site(tmp_path, "exit 0", {"node": OPEN}))
        for step in (Step(kind="drain"), Step(kind="quarantine", arguments={"intent": "{}"})):
            assert (await made.perform(step, operation())).status is ReportStatus.REFUSED
            started_step = StartedStep(step=step, started=1.0)
            assert made.recover(started_step, await made.observe(intent())) is Recovery.UNKNOWN

    run(scenario())


def test_what_waits_for_a_turn_when_everything_is_stopped_is_not_called(tmp_path: Path) -> None:
    async def scenario() -> None:
        text = f"echo x >> {tmp_path}/began; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"
        made = script(**site(tmp_path, text, {"node": OPEN}), parallel=1)
        step = await proposed(made, intent())
        assert isinstance(step, Step)
        stopped = [""]
        first = asyncio.create_task(made.perform(step, operation()))
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.01)
        permission = msgspec.structs.replace(operation(), withdrawn=lambda: stopped[0])
        waits = asyncio.create_task(made.perform(step, permission))
        await asyncio.sleep(0)
        stopped[0] = "everything is stopped by ada"
        (tmp_path / "go").touch()
        assert (await first).status is ReportStatus.DONE
        assert await waits == Report(status=ReportStatus.NOT_STARTED, text=stopped[0])
        assert (tmp_path / "began").read_text() == "x\n"

    run(scenario())


def test_too_many_at_once_come_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelwatch_script.program_hook.WAIT_FOR_SLOT_S", 0.05)

    async def scenario() -> None:
        text = f"echo x >> {tmp_path}/began; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"
        made = script(**site(tmp_path, text, {"node": OPEN}), parallel=1)
        step = await proposed(made, intent())
        assert isinstance(step, Step)
        first = asyncio.create_task(made.perform(step, operation()))
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.01)
        assert (await made.perform(step, operation())).status is ReportStatus.RETRY
        (tmp_path / "go").touch()
        assert (await first).status is ReportStatus.DONE

    run(scenario())


def test_what_runs_is_ended_when_the_action_is_closed(tmp_path: Path) -> None:
    async def scenario() -> None:
        text = f"touch {tmp_path}/began; sleep 3600"
        made = script(**site(tmp_path, text, {"node": OPEN}))
        step = await proposed(made, intent())
        assert isinstance(step, Step)
        first = asyncio.create_task(made.perform(step, operation()))
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.01)
        await made.close()
        report = await first
        assert (report.status, report.text) == (
            ReportStatus.UNKNOWN,
            "stopped before its end, killed",
        )

    run(scenario())


def test_what_runs_is_ended_when_nobody_waits_any_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        text = (
            f"trap 'touch {tmp_path}/ended; exit' TERM; touch {tmp_path}/began; sleep 3600 & wait"
        )
        made = script(**site(tmp_path, text, {"node": OPEN}))
        step = await proposed(made, intent())
        assert isinstance(step, Step)
        first = asyncio.create_task(made.perform(step, operation()))
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.01)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        while not (tmp_path / "ended").exists():
            await asyncio.sleep(0.01)

    run(scenario())


def test_a_job_is_followed_by_who_sees_and_moves_jobs(tmp_path: Path) -> None:
    (tmp_path / "42" / "step-900").mkdir(parents=True)
    job = {"id": "42", "state": "ended", "failed": True, "text": "exit code 3"}
    options = site(tmp_path, "exit 0", {"node": OPEN, "job": job})
    assert IntentKind.FOLLOW_JOB not in script(**options).intents
    options["hooks"] = {"move_job": options["hooks"]["quarantine"]}
    options["checkpoints"] = {"pattern": f"{tmp_path}/{{job}}/step-{{step}}"}
    wanted = intent(kind=IntentKind.FOLLOW_JOB, job=JobKey("", "42", 0.0), restarts=0)

    async def scenario() -> None:
        made = script(**options)
        assert IntentKind.FOLLOW_JOB in made.intents
        observed = await made.observe(wanted)
        assert observed.job is not None
        assert (observed.job.step, observed.job.checkpoint) == (
            900,
            f"{tmp_path}/42/step-900",
        )
        assert made.propose(wanted, observed) == Refusal(RefusalKind.DIED, "exit code 3")
        printing(tmp_path, job={**job, "step": 950})
        report = (await made.observe(wanted)).job
        assert report is not None
        assert report.step == 950
        await made.close()

    run(scenario())
