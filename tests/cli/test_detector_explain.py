"""`accelwatch rules explain detector`, asked of a running hub."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.cli.rules.detector_lines import lines_of
from accelwatch.cli.startup.app import build
from accelwatch.config.model import RuleSettings
from accelwatch.detection.fusion.families import FAMILIES
from accelwatch.detection.status.documents import (
    EvidenceStatus,
    FamilyStatus,
    GroupStatus,
    RowStatus,
    SignalStatus,
    Threshold,
)
from accelwatch.fleet.documents.detector import DetectorPage, FindingNote
from support.fleet.hub_peers import agent, hub
from support.machines import composed as machines

DEVICE = machines.device(1).name
PLAIN = "version: 1\nrules:\n- {id: x, title: T, when: power_watts < 1}\n"


async def typed(*words: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    arguments = ["rules", "explain", "detector", *words]
    result = await asyncio.to_thread(CliRunner().invoke, build(), arguments)
    return result.exit_code, result.stdout, result.stderr or str(result.exception or "")


def test_a_hub_shows_all_that_its_detector_holds() -> None:
    rules = RuleSettings(packs=("detector",), interval_s=0.1)

    async def main() -> None:
        own = machines.snapshot(machines.view(0), machines.view(1))
        async with agent(own) as one, hub(one.address, rules=rules) as running:
            hub_option = ("--hub", running.base)
            code, out, errors = await typed(one.address, *hub_option)
            while code != 0:
                assert "the detector has no " in errors
                await asyncio.sleep(0.05)
                code, out, errors = await typed(one.address, *hub_option)
            lines = out.splitlines()
            assert lines[0].startswith(f"the detector on {one.address}, at 20")
            assert lines[0].endswith(", every 15 s")
            assert lines[1] == "no finding"
            assert f"node {one.address}: no level" in lines
            assert f"device {DEVICE}: no level" in lines
            for family in FAMILIES:
                assert sum(line.split()[:1] == [family.name] for line in lines) == 3
            assert any("no peers, since its group has" in line for line in lines)

            code, out, _ = await typed(f"{one.address}/{DEVICE}", "--json", *hub_option)
            [row] = json.loads(out)["rows"]
            assert (row["subject"], row["name"]) == ("device", DEVICE)

            code, _, errors = await typed("n99", *hub_option)
            assert code != 0
            assert "no node 'n99' is known here" in errors

    asyncio.run(main())


def test_a_hub_without_such_a_rule_says_so(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(PLAIN, encoding="utf-8")

    async def main() -> None:
        async with agent(machines.snapshot()) as one:
            rules = RuleSettings(files=(str(file),), interval_s=0.1)
            async with hub(one.address, rules=rules) as running:
                code, _, errors = await typed(one.address, "--hub", running.base)
                assert code != 0
                assert "no detector runs here, as no rule asks for it" in errors
            async with hub(one.address) as running:
                code, _, errors = await typed(one.address, "--hub", running.base)
                assert code != 0
                assert "no detector runs here, as no rules are in force" in errors
            code, _, errors = await typed("n1", "--agent", one.address)
            assert code != 0
            assert "no such page: detectors run in hubs; name one with --hub" in errors

    asyncio.run(main())


def test_without_a_hub_the_error_says_so() -> None:
    code, _, errors = asyncio.run(typed("n1", "--hub", "127.0.0.1:1"))
    assert code != 0
    assert "127.0.0.1:1: cannot connect" in errors


POWER = FamilyStatus(
    family="power",
    score=9.1,
    lasted_s=300.0,
    z=-9.4,
    factor=1.1,
    watch=Threshold(score=6.6, lasted_s=120.0),
    agree=Threshold(score=5.5, lasted_s=120.0),
    alert=Threshold(score=8.8, lasted_s=240.0),
    enough_for="alert",
    evidence=(
        EvidenceStatus(
            channel="peer",
            weight="statistical",
            score=9.1,
            lasted_s=300.0,
            cause="power_watts",
            device="",
        ),
        EvidenceStatus(
            channel="log",
            weight="decisive",
            score=8.0,
            lasted_s=30.0,
            cause="xid_79",
            device="gpu1",
        ),
    ),
)
QUIET = FamilyStatus(
    family="clock",
    score=0.0,
    lasted_s=0.0,
    z=None,
    factor=1.0,
    watch=Threshold(score=6.0, lasted_s=120.0),
    agree=Threshold(score=5.0, lasted_s=120.0),
    alert=Threshold(score=8.0, lasted_s=240.0),
    enough_for="",
    evidence=(),
)
ROW = RowStatus(
    subject="device",
    node="n047",
    device="nvidia:GPU-1",
    name="nvidia3",
    level="alert",
    ends_below=4.4,
    group=GroupStatus(
        job="4711",
        stage="inferred 2",
        model="B200",
        members=60,
        nodes=8,
        comparable=True,
        reason="",
    ),
    phase="busy",
    learned_s={"idle": 0.0, "light": 600.0, "busy": 90_000.0},
    families=(POWER, QUIET),
    quiet_channels=("drift", "hard"),
    signals=(
        SignalStatus(
            name="power_watts",
            family="power",
            value=412.0,
            expected=455.0,
            low=450.0,
            high=460.0,
            usual=453.0,
            z=-9.4,
        ),
        SignalStatus(
            name="pcie_bytes_total.receive",
            family="pcie",
            value=2e9,
            expected=None,
            low=None,
            high=None,
            usual=None,
            z=None,
        ),
    ),
)
PAGE = DetectorPage(
    entity="n047/nvidia3",
    time="2026-11-28T03:30:00.000Z",
    interval_s=15.0,
    findings=(
        FindingNote(
            level="alert",
            scope="device",
            device="nvidia:GPU-1",
            job="4711",
            family="power",
            channels=("peer",),
            advice="exclude",
            score=9.1,
            onset="2026-11-28T03:12:00.000Z",
            opened="2026-11-28T03:16:00.000Z",
            sentence="n047/nvidia3 draws 9 % less power than its 59 peers.",
        ),
    ),
    rows=(ROW,),
)


def shown(**changes: object) -> list[str]:
    row = msgspec.structs.replace(ROW, **changes)
    return list(lines_of(msgspec.structs.replace(PAGE, rows=(row,))))


def test_the_table_has_scores_thresholds_and_signals() -> None:
    lines = [" ".join(line.split()) for line in shown()]
    assert lines == [
        "the detector on n047/nvidia3, at 2026-11-28T03:30:00.000Z, every 15 s",
        "alert since 2026-11-28T03:12:00.000Z (device): "
        "n047/nvidia3 draws 9 % less power than its 59 peers.",
        "",
        "device nvidia3: alert, ends after 5 min with a score below 4.4",
        "compared with 59 peers on 8 nodes: job 4711, stage inferred 2, B200",
        "phase busy; own past learned: 10 min light, 25 h busy",
        "FAMILY SCORE LASTED WATCH FROM AGREES FROM ALERT FROM Z REPORTED BY",
        "power 9.1 (alert) 5 min 6.6 for 2 min (x 1.10) 5.5 for 2 min 8.8 for 4 min -9.4 "
        "peer power_watts; log xid_79 of gpu1 (decisive)",
        "clock - - 6.0 for 2 min 5.0 for 2 min 8.0 for 4 min - -",
        "nothing from: drift, hard",
        "SIGNAL VALUE PEERS QUARTILES USUAL HERE Z",
        "power_watts 412 W 455 W 450 W to 460 W 453 W -9.4",
        "pcie_bytes_total.receive 1.9 GiB/s - - - -",
    ]
    # Cells stand below their titles.
    heading, power = shown()[6:8]
    assert heading.index("ALERT FROM") == power.index("8.8 for")


def test_what_keeps_a_row_from_being_judged_is_reported() -> None:
    lines = shown(
        on_hold=True, hold_left_s=180.0, maintenance=True, silent=True, sample_age_s=400.0
    )
    why = "its group changes its phase, and numbers count for nothing"
    assert f"  on hold for 3 min more: {why}" in lines
    assert "  in maintenance: nothing is found of it" in lines
    assert "  no sample for 7 min" in lines
    lines = shown(on_hold=True, silent=True, sample_age_s=None)
    assert f"  on hold: {why}" in lines
    assert "  no sample ever" in lines


def test_who_has_no_peers_gets_the_reason() -> None:
    group = GroupStatus(
        job="", stage="", model="B200", members=1, nodes=1, comparable=False, reason="it is alone"
    )
    lines = shown(group=group, learned_s={"idle": 0.0})
    assert "  no peers, since it is alone: no job, B200" in lines
    assert "  phase busy; own past learned: nothing yet" in lines


@pytest.mark.parametrize("quiet", [(), ("peer",)])
def test_a_job_has_families_only(quiet: tuple[str, ...]) -> None:
    job = RowStatus(
        subject="job",
        name="4711",
        level="none",
        ends_below=None,
        families=(QUIET,),
        quiet_channels=quiet,
    )
    lines = list(lines_of(msgspec.structs.replace(PAGE, findings=(), rows=(job,))))
    assert lines[1:4] == ["no finding", "", "job 4711: no level"]
    assert lines[-1] == f"  nothing from: {quiet[0] if quiet else 'none'}"
    assert len(lines) == 7
