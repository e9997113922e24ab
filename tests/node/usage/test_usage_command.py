"""`accelwatch usage`: from a recording, from the black box, from an agent; as table, JSON and CSV."""

import asyncio
import csv
import io
import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.agent.using import Using
from accelwatch.archive.blackbox.bounds import Bounds
from accelwatch.archive.blackbox.ring import Ring
from accelwatch.archive.recording import Recorder
from accelwatch.base.clock import SystemClock
from accelwatch.cli.history import usage_command
from accelwatch.cli.startup.app import build
from accelwatch.config.usage import UsageSettings
from accelwatch.node.usage.cells import cells, remarks, summary
from accelwatch.node.usage.ledger import By
from accelwatch.node.usage.recorded import ledger_of
from accelwatch.node.usage.report import UsageReport, report
from accelwatch.schema.snapshot import Owner, Snapshot
from support.fleet.hub_peers import agent
from support.machines import composed as machines
from support.servers.fake_feed import FakeFeed

PRICE = "usage: {price_per_kwh: 0.30, currency: EUR}\n"


def held(seconds: float) -> Snapshot:
    """Two devices: a job of ada's on one, nothing on the other; counters as if time passed."""
    views = []
    for index in range(2):
        view = machines.view(index, sample_time=machines.NOW + seconds)
        values = dict(view.reading.values)
        values["energy_joules_total", "hardware"] = 1000.0 + 360.0 * seconds
        values["busy_seconds_total",] = 50.0 + (0.5 * seconds if index == 0 else 0.0)
        values["utilization_ratio",] = 0.5 if index == 0 else 0.0
        reading = msgspec.structs.replace(view.reading, values=values, processes=())
        owner = Owner(kind="job", scheduler="slurm", job_id="4718", user="=ada")
        owners = (owner,) if index == 0 else ()
        views.append(msgspec.structs.replace(view, reading=reading, owners=owners))
    return machines.snapshot(*views, time=machines.NOW + seconds)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "node.ndjson"
    with Recorder(path) as recorder:
        for step in range(61):
            recorder.write(held(step * 5.0))
    return path


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of one's own, which the machine's is not looked for beside."""
    file = tmp_path / "agent.yaml"
    file.write_text("", encoding="utf-8")
    monkeypatch.setenv("ACCELWATCH_CONFIG_FILE", str(file))
    return file


def typed(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(build(), ["usage", *words])
    code = getattr(result.exception, "exit_code", result.exit_code)
    return code, result.stdout, result.stderr or str(result.exception or "")


def test_a_recording_as_a_table(recording: Path) -> None:
    code, out, _ = typed("--recording", str(recording), "--by", "job")
    lines = out.splitlines()
    assert code == 0
    titles = "JOB USER DEVICES HELD LOAD MEMORY PEAK ENERGY IDLE NO DATA"
    assert " ".join(lines[0].split()) == titles
    assert lines[1].split()[:5] == ["4718", "=ada", "1", "5.0", "min"]
    assert "50%" in lines[1]
    assert " 30 Wh " in lines[1]
    assert lines[2].startswith("(nobody)")
    assert lines[3].startswith("total")
    assert " 60 Wh " in lines[3]
    counted = "counted from 2027-01-15 08:00:00Z to 08:05:00Z (5 min)"
    assert lines[5:] == [f"{recording}: {counted}"]


def test_a_price_gives_money_in_every_form(recording: Path, config: Path) -> None:
    config.write_text(PRICE, encoding="utf-8")
    _, out, _ = typed("--recording", str(recording))
    assert "0.01 EUR" in out.splitlines()[1]
    _, out, _ = typed("--recording", str(recording), "--json")
    document = json.loads(out)
    assert document["price"] == {"per_kwh": 0.3, "currency": "EUR"}
    assert document["rows"][0]["cost"] == pytest.approx(0.009)
    _, out, _ = typed("--recording", str(recording), "--csv")
    assert "cost_EUR" in out.splitlines()[0]


def test_a_price_that_cannot_be_read_is_reported_beside_the_usage(
    recording: Path, config: Path
) -> None:
    config.write_text("usage: {price_per_kwh: dear}\n", encoding="utf-8")
    code, out, message = typed("--recording", str(recording))
    assert (code, "COST" in out) == (0, False)
    assert f"{config}:1: usage.price_per_kwh: 'dear' is not a valid price" in message


def test_as_json_every_unknown_has_its_reason(recording: Path) -> None:
    _, out, _ = typed("--recording", str(recording), "--json", "--since", "job", "--by", "job")
    document = json.loads(out)
    assert (document["schema"], document["by"], document["seconds"]) == (
        "accelwatch.node.usage/1",
        "job",
        300.0,
    )
    job, free = document["rows"]
    assert (job["kind"], job["job"], job["user"], job["began"]) == ("job", "4718", "=ada", None)
    assert (free["kind"], free["job"], free["idle_seconds"]) == ("free", None, 300.0)
    assert document["total"]["device_seconds"] == 600.0
    for row in (*document["rows"], document["total"]):
        lacking = [key for key in ("load_ratio", "memory_bytes", "energy_kwh") if row[key] is None]
        assert sorted(row["absent"]) == sorted(lacking)


def test_as_csv_with_names_that_a_spreadsheet_does_not_run(recording: Path) -> None:
    _, out, _ = typed("--recording", str(recording), "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["kind"] for row in rows] == ["user", "free", "total"]
    assert rows[0]["user"] == "'=ada"
    assert float(rows[0]["energy_kwh"]) == pytest.approx(0.03)
    assert (rows[1]["user"], rows[2]["devices"]) == ("", "2")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--by", "node"), "by: 'node' is neither user nor job"),
        (("--since", "2h"), "since: '2h' is neither job nor a time from 1m to 1h"),
        (("--since", "30s"), "neither job nor a time from 1m to 1h"),
        (("--since", "soon"), "neither job nor a time from 1m to 1h"),
        (("--json", "--csv"), "--json and --csv: one of them"),
        (("--recording", "F", "--hub", "h:1"), "--recording is read here"),
    ],
)
def test_what_makes_no_sense(words: tuple[str, ...], message: str) -> None:
    code, out, errors = typed(*words)
    assert (code, out) == (2, "")
    assert message in errors


def test_without_hub_and_agent_the_black_box_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: Path
) -> None:
    monkeypatch.setattr(usage_command, "reached", lambda _hub, _ask: None)
    monkeypatch.setattr("accelwatch.archive.blackbox.locations.state_folders", lambda _environ: [])
    config.write_text(f"state_dir: {tmp_path}\n", encoding="utf-8")
    code, _, message = typed()
    assert code == 4
    assert "no hub, no agent and no black box is here" in message

    (tmp_path / "blackbox").mkdir()
    ring = Ring(tmp_path / "blackbox", Bounds())
    for step in range(61):
        ring.write(held(step * 1.0))
    ring.close()
    code, out, _ = typed("--json")
    assert code == 0
    assert json.loads(out)["rows"][0]["device_seconds"] == 60.0


def test_an_agent_reports_what_it_has_counted() -> None:
    async def main() -> None:
        feed = FakeFeed(held(0.0))
        using = Using(feed, UsageSettings(price_per_kwh=0.3, currency="EUR"), SystemClock())
        using.record_usage()
        feed.put(held(5.0))
        using.record_usage()
        async with agent(held(0.0), usage=using.page) as one:
            words = ("--agent", one.address, "--since", "10m", "--by", "job")
            code, out, _ = await asyncio.to_thread(typed, *words)
            assert (code, out.splitlines()[1].split()[0]) == (0, "4718")
            assert "EUR" in out
            assert "n01: counted from" in out

    asyncio.run(main())


def test_an_agent_that_is_not_to_count_says_so() -> None:
    async def main() -> None:
        feed = FakeFeed(held(0.0))
        using = Using(feed, UsageSettings(count=False), SystemClock())
        using.record_usage()
        async with agent(held(0.0), usage=using.page) as one:
            code, _, message = await asyncio.to_thread(typed, "--agent", one.address)
            assert code != 0
            assert "usage.count is false" in message
            using.settings = UsageSettings()
            code, out, _ = await asyncio.to_thread(typed, "--agent", one.address, "--json")
            assert (code, json.loads(out)["rows"]) == (0, [])

    asyncio.run(main())


def test_an_agent_too_old_to_count_is_named_as_such() -> None:
    async def main() -> None:
        async with agent(held(0.0)) as one:
            code, _, message = await asyncio.to_thread(typed, "--agent", one.address)
            assert code != 0
            assert "no such page" in message

    asyncio.run(main())


def report_of(recording: Path, **changes: float | None) -> UsageReport:
    """What a recording tells, with other figures of energy in every row."""
    ledger, notes = ledger_of(recording, None)
    whole = report(ledger, By.USER, None, notes=notes)
    assert whole.total is not None
    rows = tuple(msgspec.structs.replace(row, **changes) for row in whole.rows)
    total = msgspec.structs.replace(whole.total, **changes)
    return msgspec.structs.replace(whole, rows=rows, total=total)


def test_a_sign_is_explained_only_where_a_figure_bears_it(recording: Path) -> None:
    none = report_of(recording, energy_kwh=None, energy_seconds=0.0, energy_divided_seconds=0.0)
    assert remarks(none) == []
    part = report_of(recording, energy_seconds=1.0)
    assert remarks(part) == ["≥ the energy of some of the time is not known"]
    assert remarks(part, ascii_only=True)[0].startswith(">= ")
    assert "≥30 Wh" in cells(part.rows[0], part, ages=False)
    divided = report_of(recording, energy_divided_seconds=1.0)
    assert [message[0] for message in remarks(divided)] == ["~"]
    assert "~30 Wh" in cells(divided.rows[0], divided, ages=False)


def test_the_day_is_reported_once_unless_it_ends_on_another(recording: Path) -> None:
    usage = report_of(recording)
    over = msgspec.structs.replace(usage, until="2027-01-16T00:05:00Z", seconds=57_900.0)
    message = "counted from 2027-01-15 08:00:00Z to 2027-01-16 00:05:00Z (16 h)"
    assert summary(over) == message
