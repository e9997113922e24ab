"""The one-shot commands against the stand-in library: documents, streams, exit codes."""

import csv
import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.schema.json.wire import decode, device_rows
from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch

# The deadline of a reading that a hung device keeps waiting: the others answer well within it.
HUNG = ("--timeout", "12s")


@pytest.fixture
def h100(tmp_path: Path) -> NvmlScenario:
    scenario = NvmlScenario.of(tmp_path / "node.scenario", "h100x8")
    scenario.write()
    return scenario


def document(scenario: NvmlScenario, *words: str) -> dict[str, object]:
    run = accelwatch("--json", "-b", "nvidia", *PATIENT, *words, environ=scenario.environment())
    assert run.returncode == 0, run.stderr
    parsed: dict[str, object] = json.loads(run.stdout)
    return parsed


def test_json_has_every_device_and_every_key(h100: NvmlScenario) -> None:
    run = accelwatch("--json", *PATIENT, environ=h100.environment())
    assert (run.returncode, run.stderr) == (0, "")
    snapshot = decode(run.stdout.encode())
    assert [view.device.index for view in snapshot.devices] == list(range(8))
    for item in json.loads(run.stdout)["devices"]:
        for row in device_rows():
            assert item[row.key] is not None or {row.key, "*"} & set(item["absent"])


def test_no_accelerator_is_exit_3_with_a_whole_document(tmp_path: Path) -> None:
    run = accelwatch("--json", "-b", "nvidia")
    assert run.returncode == 3
    assert json.loads(run.stdout)["devices"] == []


def test_the_plain_table_has_no_escape_codes(h100: NvmlScenario) -> None:
    run = accelwatch(*PATIENT, environ=h100.environment())
    assert run.returncode == 0
    assert "\x1b" not in run.stdout
    assert run.stdout.count("NVIDIA H100") == 8


def test_csv_reads_back(h100: NvmlScenario) -> None:
    run = accelwatch(
        "--format", "csv", "--fields", "index,power_watts,temperature_celsius.gpu", *PATIENT,
        environ=h100.environment(),
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(run.stdout, newline="")))
    assert [row["index"] for row in rows] == [str(number) for number in range(8)]
    assert all(float(row["power_watts"]) > 0 for row in rows)


def test_prometheus_format_is_an_exposition(h100: NvmlScenario) -> None:
    run = accelwatch("--format", "prometheus", *PATIENT, environ=h100.environment())
    assert run.stdout.count("\naccel_device_up{") == 8


def test_fields_bring_their_opt_in_group(h100: NvmlScenario) -> None:
    item = document(h100, "--fields", "memory_pool_size_bytes")["devices"][0]  # type: ignore[index]
    assert item["memory_pool_size_bytes"]["bar1"] > 0


def test_devices_are_selected(h100: NvmlScenario) -> None:
    devices = document(h100, "-d", "1,nvidia:3")["devices"]
    assert [item["index"] for item in devices] == [1, 3]  # type: ignore[attr-defined]


def test_an_unknown_selector_names_the_valid_ones(h100: NvmlScenario) -> None:
    run = accelwatch("-d", "9", *PATIENT, environ=h100.environment())
    assert (run.returncode, run.stdout) == (4, "")
    assert "no device '9'; there are: nvidia:0, nvidia:1" in run.stderr


def test_a_filter_keeps_what_is_true(h100: NvmlScenario) -> None:
    h100.set(2, "temperature_c", 91)
    h100.write()
    devices = document(h100, "--filter", 'vendor == "nvidia" and temperature_celsius > 90')[
        "devices"
    ]
    assert [item["index"] for item in devices] == [2]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--filter", "temprature_celsius > 3"), "did you mean temperature_celsius?"),
        (("--fields", "powr_watts"), "did you mean power_watts?"),
        (("--format", "jsno"), "did you mean json?"),
        (("--json", "--format", "csv"), "contradict"),
        (("--timeout", "soon"), "is not a valid duration"),
        (("--timeout", "0"), "out of range"),
        (("--device", ""), "--device is empty"),
        (("--fields=",), "--fields is empty"),
        (("-w", "1", "-n", "0"), "--count is at least 1"),
        (("--backend", "nvidai"), "did you mean nvidia?"),
        (("--timeout", "99999d"), "out of range"),
        (("--watch", "5x"), "is not a valid duration"),
        (("--count", "3"), "--count goes with --watch"),
        (("--collect", "everything"), "no opt-in group"),
        (("--nonsense",), "no such option: --nonsense"),
        (("--query-gpu", "nmae"), "did you mean name?"),
        (("--query-gpu", "name", "--format", "json"), "takes csv, noheader and nounits"),
    ],
)
def test_mistakes_are_exit_2_with_nothing_on_stdout(words: tuple[str, ...], complaint: str) -> None:
    run = accelwatch(*words)
    assert (run.returncode, run.stdout) == (2, "")
    assert complaint in run.stderr


def test_a_lost_device_stays_a_row_and_strict_says_so(h100: NvmlScenario) -> None:
    h100.lose(3, handle=True)
    h100.write()
    plain = accelwatch("--json", *PATIENT, environ=h100.environment())
    assert plain.returncode == 0
    devices = json.loads(plain.stdout)["devices"]
    assert [item["state"] for item in devices].count("lost") == 1
    assert len(devices) == 8
    assert accelwatch("--json", "--strict", *PATIENT, environ=h100.environment()).returncode == 6


def test_a_hung_device_costs_its_own_row_only(h100: NvmlScenario) -> None:
    h100.fault("*", "hang", device=5)
    h100.write()
    run = accelwatch("--json", *HUNG, environ=h100.environment())
    assert run.returncode == 0
    devices = json.loads(run.stdout)["devices"]
    assert [item["state"] for item in devices].count("unresponsive") == 1
    (hung,) = [item for item in devices if item["state"] == "unresponsive"]
    assert hung["absent"] == {"*": "timeout"}
    assert all(item["power_watts"] for item in devices if item is not hung)


def test_all_devices_hung_still_gives_a_document(h100: NvmlScenario) -> None:
    h100.fault("*", "hang", device="*")
    h100.write()
    run = accelwatch("--json", *HUNG, environ=h100.environment())
    devices = json.loads(run.stdout)["devices"]
    assert [item["state"] for item in devices] == ["unresponsive"] * 8


def test_a_crash_in_the_library_is_reported_and_survived(h100: NvmlScenario) -> None:
    h100.fault("nvmlDeviceGetUtilizationRates", "segv", device=2)
    h100.write()
    run = accelwatch("--json", *PATIENT, environ=h100.environment())
    parsed = json.loads(run.stdout)
    assert [item["state"] for item in parsed["devices"]].count("ok") == 7
    (error,) = parsed["errors"]
    assert (error["code"], error["device_id"]) == ("crash", parsed["devices"][2]["id"])
    assert run.stderr.count("ended with SIGSEGV during read of nvidia") == 1


def test_a_deadline_too_short_for_anything_is_no_lack_of_accelerators(h100: NvmlScenario) -> None:
    run = accelwatch("--json", "-b", "nvidia", "--timeout", "1ms", environ=h100.environment())
    assert run.returncode == 1
    assert json.loads(run.stdout)["devices"] == []
    assert run.stderr.startswith("accelwatch: nvidia: ")
    assert "give it more time (--timeout)" in run.stderr


def test_the_table_says_that_devices_could_not_be_read(h100: NvmlScenario) -> None:
    h100.fault("nvmlInit_v2", "error:9")
    h100.write()
    run = accelwatch("-b", "nvidia", *PATIENT, environ=h100.environment())
    assert run.returncode == 1
    assert "no device could be read (nvidia)" in run.stdout
    assert run.stderr.startswith("accelwatch: nvidia: ")


def test_a_filter_that_matches_nothing_is_no_lack_of_accelerators(h100: NvmlScenario) -> None:
    words = ("-f", "temperature_celsius > 999")
    run = accelwatch("-b", "nvidia", *PATIENT, *words, environ=h100.environment())
    assert run.returncode == 0
    message = "no device matches; 8 devices are there"
    assert run.stdout.splitlines()[-1] == message


def test_no_permission_for_any_device_is_exit_5(h100: NvmlScenario) -> None:
    h100.fault("*", "error:4", device="*")
    h100.write()
    run = accelwatch("--json", *PATIENT, environ=h100.environment())
    assert run.returncode == 5
    devices = json.loads(run.stdout)["devices"]
    assert [item["absent"]["*"] for item in devices] == ["permission"] * 8


def test_no_permission_for_one_device_costs_its_row_only(h100: NvmlScenario) -> None:
    h100.fault("*", "error:4", device=2)
    h100.write()
    run = accelwatch("--json", *PATIENT, environ=h100.environment())
    assert run.returncode == 0
    devices = json.loads(run.stdout)["devices"]
    refused = [item["index"] for item in devices if item["absent"].get("*") == "permission"]
    assert refused == [2]
    assert sum(item["power_watts"] is not None for item in devices) == 7


def test_watch_writes_a_document_a_line(h100: NvmlScenario) -> None:
    run = accelwatch("--json", "-w", "250ms", "-n", "3", *PATIENT, environ=h100.environment())
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == 3
    times = [json.loads(line)["time"] for line in lines]
    assert times == sorted(set(times))


def test_a_watched_csv_has_one_header(h100: NvmlScenario) -> None:
    words = ("--format", "csv", "--fields", "index,power_watts", "-w", "250ms", "-n", "3")
    lines = accelwatch(*words, *PATIENT, environ=h100.environment()).stdout.splitlines()
    assert lines.count("index,power_watts") == 1
    assert len(lines) == 1 + 3 * 8


def test_a_watched_file_is_whole_each_time(h100: NvmlScenario, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    words = ("-w", "250ms", "-n", "2", "-o", str(target))
    accelwatch("--format", "csv", "--fields", "index", *words, *PATIENT, environ=h100.environment())
    assert target.read_text().splitlines() == ["index", *map(str, range(8))]
    accelwatch("--query-gpu=index", "--format=csv", *words, *PATIENT, environ=h100.environment())
    assert target.read_text().splitlines() == ["index", *map(str, range(8))]


def test_a_closed_pipe_ends_it_quietly(h100: NvmlScenario) -> None:
    words = f"{sys.executable} -m accelwatch --json -w 250ms {' '.join(PATIENT)} | head -n 1"
    environ = {**os.environ, **h100.environment()}
    run = subprocess.run(words, shell=True, env=environ, capture_output=True, check=False)
    assert run.stderr == b"", run.stderr.decode()
    assert run.stdout.count(b"\n") == 1


def test_output_goes_to_a_private_file_in_one_step(h100: NvmlScenario, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("before")
    run = accelwatch("--json", "-o", str(target), *PATIENT, environ=h100.environment())
    assert (run.returncode, run.stdout) == (0, "")
    assert len(decode(target.read_bytes()).devices) == 8
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob(".out*")] == []


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_an_output_can_be_readable_for_others(
    h100: NvmlScenario, tmp_path: Path, umask: int
) -> None:
    target = tmp_path / "accelwatch.prom"
    words = ("--format", "prometheus", "-o", str(target), "--mode", "0644", *PATIENT)
    before = os.umask(umask)
    try:
        run = accelwatch(*words, environ=h100.environment())
    finally:
        os.umask(before)
    assert (run.returncode, run.stderr) == (0, "")
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--mode", "0644"), "--mode goes with --output FILE"),
        (("--mode", "0899", "-o", "x"), "--mode is an octal number such as 0644, not '0899'"),
        (("--mode", "u=rw", "-o", "x"), "--mode is an octal number such as 0644, not 'u=rw'"),
        (("--mode", "0444", "-o", "x"), "its owner reads and writes, not 0444"),
        (("--mode", "0244", "-o", "x"), "its owner reads and writes, not 0244"),
        (("--mode", "4755", "-o", "x"), "its owner reads and writes, not 4755"),
        (("-L", "--mode", "0644"), "--mode goes with --output FILE"),
        (("--fields", "help", "--mode", "0644"), "--mode goes with --output FILE"),
    ],
)
def test_a_mode_that_cannot_be_is_refused(
    words: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    at = [str(tmp_path / word) if word == "x" else word for word in words]
    run = accelwatch(*at)
    assert (run.returncode, run.stdout) == (2, "")
    assert complaint in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_output_is_one_line(h100: NvmlScenario) -> None:
    run = accelwatch("--json", "-o", "/nowhere/out.json", *PATIENT, environ=h100.environment())
    assert run.returncode == 1
    assert run.stderr == "accelwatch: cannot write to /nowhere: No such file or directory\n"


def test_a_full_disk_is_one_line(h100: NvmlScenario) -> None:
    environ = {**os.environ, **h100.environment()}
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run(
            [sys.executable, "-m", "accelwatch", "--json", *PATIENT],
            env=environ, stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert run.returncode == 1
    assert run.stderr == b"accelwatch: cannot write to stdout: No space left on device\n"


def test_ascii_terminals_get_ascii(h100: NvmlScenario) -> None:
    environ = {**h100.environment(), "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    run = accelwatch(*PATIENT, environ=environ)
    assert run.stdout.isascii()


def test_visibility_variables_are_honoured(h100: NvmlScenario) -> None:
    environ = {**h100.environment(), "CUDA_VISIBLE_DEVICES": "2,0,77,1"}
    run = accelwatch("--json", "--visible", *PATIENT, environ=environ)
    assert [item["index"] for item in json.loads(run.stdout)["devices"]] == [0, 2]


def test_version_needs_nothing_else() -> None:
    probe = (
        "import sys, atexit; sys.argv = ['accelwatch', '--version'];"
        "heavy = ('click', 'msgspec', 'asyncio', 'subprocess');"
        "atexit.register(lambda: print([m for m in heavy if m in sys.modules]));"
        "from accelwatch.cli.startup.main import main; main()"
    )
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("words", [["--json"], ["--format", "csv"], ["--format", "prometheus"], []])
def test_the_one_shot_path_loads_no_heavy_module(h100: NvmlScenario, words: list[str]) -> None:
    probe = (
        "import sys; from accelwatch.cli.startup.entry import dispatch; dispatch(sys.argv[1:]); "
        "heavy = 'textual numpy aiohttp rich asyncio prometheus_client'.split(); "
        "sys.stderr.write(repr([m for m in heavy if m in sys.modules]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", probe, *words, *PATIENT],
        env={**os.environ, **h100.environment()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == "[]"
