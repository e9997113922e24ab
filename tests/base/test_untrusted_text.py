"""What a device or node chose as its name: on a terminal, in a log, an exposition, a spreadsheet."""

import csv
import io
import logging
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from accelwatch.base.untrusted_text import cell_text, escaped, no_formula, printable
from accelwatch.cli.fleet.tables.documents import csv_text
from accelwatch.cli.node.doctor import _report
from accelwatch.cli.output import complain
from accelwatch.node.diagnosis import Probed, diagnose
from accelwatch.schema.snapshot import Snapshot
from accelwatch.system.daemon.logs import JsonFormatter, TextFormatter
from accelwatch_csv import CsvExporter
from accelwatch_nvidia_smi import list_gpus, machine_of, parse_names, query_fields, query_gpu
from accelwatch_prometheus import PrometheusExporter
from support.machines import composed as machines

HOSTILE = [
    pytest.param("\x1b[2J\x1b]0;owned\x07", id="escape sequences"),
    pytest.param("a\rb\x08\x00", id="other C0"),
    pytest.param("\x7f\x9b31m\x85", id="DEL and C1"),
    pytest.param("\u202egpj.exe\u2066\u200f", id="bidirectional"),
    pytest.param("one\u2028two\u2029three", id="line separators"),
]
FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]


def named(name: str) -> Snapshot:
    return machines.snapshot(machines.view(0, device=machines.device(0, model=name, uuid=name)))


def harmless(text: str, *, lines: bool = True) -> bool:
    return all(char.isprintable() or (lines and char in "\r\n") for char in text)


def query(snapshot: Snapshot, names: str) -> str:
    fields = parse_names(names, query_fields(), "--query-gpu")
    return query_gpu(snapshot, machine_of(snapshot), fields, header=False, units=False)


def cell(text: str) -> str:
    line = printable(" ".join(text.splitlines()))
    return line if line == "-1" else no_formula(line)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_character_that_does_something_is_left(text: str) -> None:
    for shown in (printable(text), escaped(text), cell_text(text)):
        assert harmless(shown, lines=False)
    assert len(printable(text)) == len(text)


@pytest.mark.parametrize("text", ["", "NVIDIA H100 80GB HBM3", "Ünïcode ° 加速器", "a=b"])
def test_names_stay_as_they_are(text: str) -> None:
    assert printable(text) == escaped(text) == cell_text(text) == text


def test_different_names_stay_different_where_they_are_keys() -> None:
    assert escaped("a\x01") != escaped("a\x02")
    assert escaped("a\nb", keep="\n") == "a\nb"
    assert escaped("\ud800") == "\\ud800"


@pytest.mark.parametrize("text", FORMULAS)
def test_a_spreadsheet_runs_no_name(text: str) -> None:
    assert no_formula(text) == f"'{text}"
    assert cell_text(text)[0] in "'?"


@pytest.mark.parametrize("text", HOSTILE)
def test_logs(text: str) -> None:
    record = logging.LogRecord("n", logging.INFO, "", 0, "node=%s\nnext", (text,), None)
    line = TextFormatter().format(record)
    assert harmless(line, lines=False)
    assert "\\nnext" in line
    document = JsonFormatter().format(record)
    assert harmless(document, lines=False)
    parsed = msgspec.json.decode(document)
    assert parsed["message"].endswith("\nnext")
    assert harmless(parsed["fields"]["node"], lines=False)


@pytest.mark.parametrize("text", HOSTILE)
def test_csv(text: str) -> None:
    shown = CsvExporter().render(named(text), {"fields": ["model", "uuid"]}).decode()
    assert harmless(shown)
    assert list(csv.reader(io.StringIO(shown)))[1] == [cell_text(text)] * 2
    assert harmless(csv_text([[text, 1, None]]).decode())


@pytest.mark.parametrize("text", [*(one.values[0] for one in HOSTILE), *FORMULAS])
def test_query_gpu(text: Any) -> None:
    snapshot = named(text)
    shown = query(snapshot, "name,uuid,temperature.gpu")
    assert harmless(shown)
    assert harmless(list_gpus(snapshot, machine_of(snapshot)))
    assert shown.splitlines() == [shown.removesuffix("\n")]
    name, uuid, _temperature = shown.split(", ")
    assert name == uuid == cell(text)


def test_query_gpu_leaves_negative_numbers_alone() -> None:
    series = query_fields()["temperature.memory"].series
    reading = msgspec.structs.replace(machines.view(0).reading, values={series: -5.0})
    snapshot = machines.snapshot(machines.view(0, reading=reading))
    assert query(snapshot, "temperature.memory") == "-5\n"


@pytest.mark.parametrize("text", HOSTILE)
def test_the_exposition_stays_lawful(text: str) -> None:
    shown = PrometheusExporter().render(named(f'{text}"\\\nz'), {}).decode()
    assert harmless(shown)
    families = {one.name: one for one in text_string_to_metric_families(shown)}
    (sample,) = families["accel_device_info"].samples
    assert sample.labels["model"] == escaped(text) + '"\\\nz'


@pytest.mark.parametrize("text", HOSTILE)
def test_messages_on_a_terminal(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    complain(f"no node {text}\n  second line")
    errors = capsys.readouterr().err
    assert harmless(errors)
    assert errors.splitlines()[1] == "  second line"


@pytest.mark.parametrize("text", HOSTILE)
def test_doctor(text: str) -> None:
    found = msgspec.structs.replace(diagnose(named("x"), Probed({}, {}, {})), host=text)
    assert harmless(_report(found))


def test_what_stands_instead_can_be_chosen() -> None:
    assert printable("a\x1b\u202eb", instead="\ufffd") == "a\ufffd\ufffdb"
