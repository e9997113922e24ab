"""`accelwatch audit` as somebody types it."""

import contextlib
import fcntl
import json
import sqlite3
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.alerting.incidents.journal.records import (
    GONE,
    Batch,
    IncidentRecord,
    MaintenanceRecord,
    NoteRecord,
    Record,
    RuleSetRecord,
    SilenceRecord,
    StateRecord,
)
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.journal.sqlite.folder import LOCK
from accelwatch.cli.startup.app import build
from alerting.incidents.incident_rules import START
from alerting.incidents.test_journal import incident, silence, window
from support.incidents.kept_journals import InPostgreSQL
from support.postgresql.server import running_or_skip

BODY = msgspec.Raw(b'{"state":"started","text":"drain n1"}')


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(build(), ["audit", *map(str, words)])
    code = getattr(result.exception, "exit_code", result.exit_code)
    return code, result.stdout, result.stderr or str(result.exception or "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    file = open_file(tmp_path / FILE)
    by_us: list[Record] = [
        RuleSetRecord("0123456789abcdef", ("a.yaml",), 60),
        IncidentRecord(incident()),
        StateRecord("operation", "i1-1", BODY, None, "node:n1", "i1", "n1"),
        StateRecord("hold", "i2", GONE, incident="i2", node="n2"),
        StateRecord("odd", "x", msgspec.Raw(b"[1]")),
    ]
    by_anna: list[Record] = [
        SilenceRecord(silence(START + 60)),
        MaintenanceRecord(window(START + 60)),
        NoteRecord("i1", "looked at it\x1b[2J"),
    ]
    file.write([Batch(time=START, records=by_us)])
    file.write([Batch(time=START + 1, records=by_anna, actor="anna", address="192.0.2.7")])
    file.close()
    return tmp_path


def change(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / FILE) as database:
        database.execute(statement)
    database.close()


def test_each_entry_is_a_line(folder: Path) -> None:
    code, text, _ = run("list", folder)
    lines = [line.split(maxsplit=3) for line in text.splitlines()]
    assert code == 0
    assert [(line[0], line[2]) for line in lines] == [
        *((str(number), "engine") for number in range(1, 6)),
        *((str(number), "anna@192.0.2.7") for number in range(6, 9)),
    ]
    names = [line[3].encode("ascii", "replace").decode() for line in lines]
    assert names == [
        "rules 60 in force 0123456789ab",
        "incident i1 open critical n1 GPU ? is lost",
        "operation i1-1 n1 i1 started drain n1",
        "hold i2 n2 i2 gone",
        "odd x",
        "silence s7 until 2027-01-15T08:01:00.000Z swap",
        "maintenance m9 n1 BIOS",
        "note i1 looked at it?[2J",
    ]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (("--node", "n1"), [2, 3, 7]),
        (("--node", "n2"), [4]),
        (("--incident", "i1"), [2, 3, 8]),
        (("--incident", "i1", "--node", "n1"), [2, 3]),
        (("--most", "2"), [7, 8]),
    ],
)
def test_what_is_requested_is_shown(
    folder: Path, words: tuple[str, ...], numbers: list[int]
) -> None:
    code, text, _ = run("list", folder, "--json", *words)
    entries = json.loads(text)["entries"]
    assert (code, [one["sequence"] for one in entries]) == (0, numbers)


def test_a_document_has_what_was_written(folder: Path) -> None:
    _, text, _ = run("list", folder, "--json", "--incident", "i1")
    *_, operation, note = json.loads(text)["entries"]
    assert operation["record"]["body"] == {"state": "started", "text": "drain n1"}
    assert (operation["actor"], operation["address"]) == ("engine", None)
    assert (note["address"], note["time"]) == ("192.0.2.7", "2027-01-15T08:00:01.000Z")


def test_a_journal_that_is_whole_is_ok(folder: Path) -> None:
    code, text, complaint = run("verify", folder)
    assert (code, complaint) == (0, "")
    assert text.startswith("8 entries are as they were written; ")
    code, text, _ = run("verify", folder / FILE, "--json")
    document = json.loads(text)
    assert (code, document["entries"], document["bad"], document["differing"]) == (0, 8, None, [])


def test_the_first_entry_that_was_changed_is_named(folder: Path) -> None:
    change(folder, "UPDATE entry SET actor = 'nobody' WHERE seq = 6")
    code, text, complaint = run("verify", folder)
    assert (code, text) == (1, "")
    assert "entry 6 is not what was written" in complaint
    code, text, _ = run("verify", folder, "--json")
    assert (code, json.loads(text)["bad"], json.loads(text)["entries"]) == (1, 6, 5)


def test_tables_that_were_changed_are_named_and_made_again(folder: Path) -> None:
    change(folder, "UPDATE state SET claim = NULL")
    change(folder, "DELETE FROM silence")
    code, _, complaint = run("verify", folder)
    assert code == 1
    assert "the table silence is not what the entries say" in complaint
    assert "the table state is not what the entries say" in complaint
    assert run("rebuild", folder) == (0, "made again from 8 entries\n", "")
    assert run("verify", folder)[0] == 0
    code, text, _ = run("rebuild", folder, "--json")
    assert (code, json.loads(text)["entries"]) == (0, 8)


def test_a_broken_chain_makes_no_tables(folder: Path) -> None:
    change(folder, "DELETE FROM entry WHERE seq = 2")
    code, _, complaint = run("rebuild", folder)
    assert code == 1
    assert "entry 3 is not what was written" in complaint


def test_a_journal_in_use_is_looked_at_but_not_made_again(folder: Path) -> None:
    with (folder / LOCK).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert run("verify", folder)[0] == 0
        code, _, complaint = run("rebuild", folder)
    assert (code, "a process keeps it open; stop that first" in complaint) == (1, True)


@pytest.mark.parametrize("verb", ["list", "verify", "rebuild"])
def test_a_folder_without_a_journal_is_a_wrong_command_line(tmp_path: Path, verb: str) -> None:
    code, text, complaint = run(verb, tmp_path)
    assert (code, text) == (2, "")
    assert "there is no journal; give the state_dir" in complaint
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_journal_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database, " * 400)
    code, _, complaint = run("verify", tmp_path)
    assert (code, "the journal cannot be opened" in complaint) == (1, True)


def test_a_journal_in_postgresql_is_found_by_the_configuration_of_a_hub(tmp_path: Path) -> None:
    with running_or_skip() as server:
        kept = InPostgreSQL(server)
        hub = tmp_path / "hub.yaml"
        postgresql = msgspec.structs.asdict(kept.settings)
        hub.write_text(msgspec.json.encode({"journal": {"postgresql": postgresql}}).decode())
        with contextlib.closing(kept.open()) as leader:
            leader.write([Batch(time=START, records=[IncidentRecord(incident())])])
            leader.write([Batch(time=START, records=[NoteRecord("i1", "cabled")], actor="anna")])
            assert "cabled" in run("list", hub)[1]
            code, text, _ = run("verify", hub)
            assert (code, text.startswith("2 entries are as they were written")) == (0, True)
            code, _, complaint = run("rebuild", hub)
            assert (code, "another hub writes there" in complaint) == (1, True)
        kept.change("DELETE FROM incident")
        code, _, complaint = run("verify", hub)
        assert (code, "the table incident is not what" in complaint) == (1, True)
        assert run("rebuild", hub) == (0, "made again from 2 entries\n", "")
        assert run("verify", hub)[0] == 0
        kept.change("UPDATE entry SET actor = 'nobody' WHERE seq = 2")
        assert "entry 2 is not what was written" in run("verify", hub)[2]


def test_a_configuration_without_a_journal_is_a_wrong_command_line(tmp_path: Path) -> None:
    hub = tmp_path / "hub.yaml"
    hub.write_text("log: {level: info}\n")
    code, _, complaint = run("verify", hub)
    assert code == 2
    assert "neither journal.postgresql nor state_dir is set there" in complaint


def test_a_configuration_names_the_state_dir(folder: Path) -> None:
    hub = folder / "hub.yaml"
    hub.write_text(f"state_dir: {folder}\n")
    assert run("verify", hub)[0] == 0
