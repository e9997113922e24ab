"""What each fixture machine looks like in every format, as files that a person can read.

`pytest tests/golden --update` writes them anew.
"""

import csv
import io
import json
import math
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from accelwatch.cli.node.table import render
from accelwatch.cli.table_lines import Style
from accelwatch.schema.catalogue.lookup import catalogue
from accelwatch.schema.json.wire import decode, encode
from accelwatch.schema.metrics import PREFIX, Kind
from accelwatch_csv import CsvExporter
from accelwatch_json import JsonExporter
from accelwatch_prometheus import PrometheusExporter
from support.machines.fixture_machines import MACHINES
from support.machines.samples import FIXTURES
from support.machines.staged_machines import FixtureMachine
from support.machines.staging import two_ticks, worth_reading
from support.rules.unit_suffixes import UNIT_SUFFIXES

GOLDEN = FIXTURES / "golden"
WITHOUT_DEVICES = {"host-hgx-ib2", "host-damaged", "kernel-log-bad-day", "replay-demo"}
CHOSEN = [machine for machine in MACHINES if machine.name not in WITHOUT_DEVICES]
FILES = ("snapshot.json", "devices.csv", "table.txt", "metrics.prom")
# Lines of a file that a person still reads.
LONGEST = 2600


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def outputs(machine: FixtureMachine, folder: Path) -> dict[str, bytes]:
    """Each format's bytes."""
    with machine.stage(folder) as stage:
        shot = worth_reading(two_ticks(stage))
    assert msgspec.structs.replace(decode(encode(shot)), own={}).devices
    exposition = PrometheusExporter().render(shot, {}).decode()
    lines = [line for line in exposition.splitlines() if "exporter_build_info" not in line]
    return {
        "snapshot.json": JsonExporter().render(shot, {"pretty": True}),
        "devices.csv": CsvExporter().render(shot, {}),
        "table.txt": render(shot, (), Style()).encode(),
        "metrics.prom": ("\n".join(lines) + "\n").encode(),
    }


@pytest.mark.parametrize("machine", CHOSEN, ids=lambda one: one.name)
def test_outputs_are_the_golden_ones(machine: FixtureMachine, tmp_path: Path, update: bool) -> None:
    folder = GOLDEN / machine.name
    for name, content in outputs(machine, tmp_path).items():
        if update:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        golden = (folder / name).read_bytes()
        assert content.decode() == golden.decode(), f"{folder.name}/{name}; see --update"


def test_every_machine_has_its_files_and_no_other() -> None:
    expected = {f"{machine.name}/{name}" for machine in CHOSEN for name in FILES}
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*.*")} == expected
    assert {machine.vendor for machine in CHOSEN} >= {"nvidia", "amd", "intel", "replay"}
    assert len([machine for machine in CHOSEN if not machine.healthy]) >= 3


@pytest.mark.parametrize("machine", CHOSEN, ids=lambda one: one.name)
def test_json_is_read_by_two_parsers(machine: FixtureMachine) -> None:
    text = (GOLDEN / machine.name / "snapshot.json").read_bytes()
    assert json.loads(text) == msgspec.json.decode(text)
    assert text.count(b"\n") < LONGEST
    assert decode(text).devices
    assert not re.search(rb"NaN|Infinity|: -1(\.0)?[,\s]", text)
    devices = json.loads(text)["devices"]
    assert not [key for device in devices for key, value in device.items() if value == ""]


@pytest.mark.parametrize("machine", CHOSEN, ids=lambda one: one.name)
def test_csv_is_rectangular_and_has_no_words_for_absence(machine: FixtureMachine) -> None:
    text = (GOLDEN / machine.name / "devices.csv").read_bytes().decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    assert not {cell.lower() for row in rows for cell in row} & {"n/a", "nan", "none", "null", "-1"}


@pytest.mark.parametrize("machine", CHOSEN, ids=lambda one: one.name)
def test_exposition_is_read_by_an_independent_parser(machine: FixtureMachine) -> None:
    text = (GOLDEN / machine.name / "metrics.prom").read_text()
    families = list(text_string_to_metric_families(text))
    samples = [sample for family in families for sample in family.samples]
    assert samples
    assert all(math.isfinite(sample.value) and sample.value != -1 for sample in samples)
    assert not [s for s in samples if any(value == "" for value in s.labels.values())]
    identities = {(sample.name, *sorted(sample.labels.items())) for sample in samples}
    assert len(identities) == len(samples)
    assert all(family.documentation for family in families)


@pytest.mark.parametrize("machine", CHOSEN, ids=lambda one: one.name)
def test_promtool_finds_nothing(machine: FixtureMachine) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not on PATH (Debian: apt install prometheus)")
    text = (GOLDEN / machine.name / "metrics.prom").read_text()
    run = subprocess.run(
        [promtool, "check", "metrics"], input=text, text=True, capture_output=True, check=False
    )
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_names_end_in_their_unit() -> None:
    for row in catalogue():
        if row.unit:
            assert row.family.endswith(UNIT_SUFFIXES[row.unit]), row.family
        if row.kind is Kind.COUNTER:
            assert row.family.endswith("_total"), row.family
    known = {row.family for row in catalogue()}
    for path in GOLDEN.glob("*/metrics.prom"):
        for line in path.read_text().splitlines():
            if line.startswith("# TYPE "):
                assert line.split()[2] in known
                assert line.split()[2].startswith(PREFIX)
