"""What backends share whose devices a vendor's command lists."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from accelwatch.backend import Context, Opened, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.bus_devices import Location
from accelwatch.backend.kit.listed_process import listed
from accelwatch.backend.kit.polled import PolledDocument
from accelwatch.backend.kit.tool_backend import Command, ToolBackend
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.reading import Process, Reading


class Backend(ToolBackend[str, Location]):
    """Of a command that prints the driver's version, or nothing; it lists one device."""

    name = "x"
    command = Command(
        names=("x-smi", "x-stat"),
        option="x_smi",
        remedy="install x",
        vendor_id=0x1234,
        prefix="x",
        driver="sys/module/xdrv",
        module="xdrv",
        folders=("opt/x/bin", "opt/y/bin"),
        classes=(0x12, 0x03),
    )

    def make_query(self) -> Callable[[], str]:
        return lambda: self.run("-q").decode().strip()

    def listed(self, answer: str) -> Sequence[Location]:
        return [Location(None, 0)]

    def reported_version(self, answer: str) -> str | None:
        return answer or None


Build = Callable[..., Backend]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Makes backends of one root, and closes them."""
    backends: list[Backend] = []

    def make(**options: object) -> Backend:
        context = Context(
            root=tmp_path, clock=ManualClock(), environ={}, state_dir=None, options=options
        )
        backends.append(Backend(context))
        return backends[-1]

    yield make
    for backend in backends:
        backend.close()


def program(path: Path, prints: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {prints}\n")
    path.chmod(0o755)
    return path


def module_says(root: Path, version: str) -> None:
    folder = root / "sys/module/xdrv"
    folder.mkdir(parents=True)
    (folder / "version").write_text(f"{version}\n")


def refusal(backend: Backend) -> tuple[str, str, str]:
    with pytest.raises(BackendUnavailable) as refused:
        backend.open()
    return str(refused.value), refused.value.reason, refused.value.remedy


def test_where_no_command_is_found_it_says_where_was_looked(build: Build) -> None:
    assert refusal(build()) == (
        "x-smi was found neither in /opt/x/bin, /opt/y/bin nor in the folders of commands",
        "command_not_found",
        "install x",
    )


def test_without_folders_of_its_own_it_names_none(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Backend, "command", Backend.command._replace(folders=()))
    assert refusal(build())[0] == "x-smi was not found in the folders of commands"


def test_a_file_that_the_configuration_names_and_that_is_none_is_what_is_reported(
    build: Build, tmp_path: Path
) -> None:
    program(tmp_path / "usr/bin/x-smi")
    assert refusal(build(x_smi="/nowhere/x-smi")) == (
        "x_smi: '/nowhere/x-smi' is not a file",
        "command_not_found",
        "fix collect.options.x.x_smi in the configuration",
    )


def test_the_command_that_the_configuration_names_is_queried(build: Build, tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/x-smi", "1.0")
    named = program(tmp_path / "home/x-smi", "2.0")
    assert build(x_smi=str(named)).open().versions == {"driver": "2.0"}


@pytest.mark.parametrize(
    ("output", "module", "versions"),
    [
        ("1.0", "0.9", {"driver": "1.0"}),
        ("", "0.9", {"driver": "0.9"}),
        ("", "v" * 99, {"driver": "v" * 64}),
        ("", None, {}),
    ],
)
def test_the_version_is_the_commands_else_the_kernel_modules(
    build: Build, tmp_path: Path, output: str, module: str | None, versions: dict[str, str]
) -> None:
    program(tmp_path / "usr/bin/x-stat", output)
    if module is not None:
        module_says(tmp_path, module)
    assert build().open() == Opened(source="x-smi", versions=versions)


def test_a_probe_reports_the_bus_the_driver_and_the_command(build: Build, tmp_path: Path) -> None:
    probe = build().probe()
    assert [(check.subject, check.ok, check.remedy) for check in probe.checks] == [
        ("PCI 1234, class 03 or 12", False, ""),
        (f"{tmp_path}/sys/module/xdrv", False, "load the driver: xdrv"),
        ("x-smi", False, "install x"),
    ]
    assert not probe.present
    module_says(tmp_path, "1")
    program(tmp_path / "opt/y/bin/x-stat")
    probe = build().probe()
    assert [check.ok for check in probe.checks] == [False, True, True]
    assert probe.present


def test_what_is_on_the_bus_is_present_without_its_driver(build: Build, tmp_path: Path) -> None:
    folder = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    folder.mkdir(parents=True)
    for name, text in {"vendor": "0x1234", "device": "0x1", "class": "0x030000"}.items():
        (folder / name).write_text(f"{text}\n")
    probe = build().probe()
    assert (probe.present, probe.checks[0].ok, probe.checks[1].ok) == (True, True, False)


def test_a_node_that_is_there(build: Build, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/x0").touch()
    assert (build().node("x0"), build().node("x1")) == ("/dev/x0", None)


def reading_of(
    backend: Backend, request: Request, processes: Callable[[], list[Process]] | Absence
) -> Reading:
    answer = PolledDocument(document="", age_s=1.5, pace_s=2.0)
    (reading,) = backend.readings(request, answer, Reading(device_id="x:0", values={}), processes)
    assert (reading.age_s, reading.pace_s) == (1.5, 2.0)
    return reading


def test_processes_are_reported_after_the_numbers(build: Build) -> None:
    order: list[str] = []

    def one() -> list[Process]:
        order.append("processes")
        return [listed("x:0", 1 << 30, "python", 5.0)]

    request = Request(
        slow=True, processes=True, groups=frozenset(), numbers=lambda _: order.append("numbers")
    )
    reading = reading_of(build(), request, one)
    assert [process.pid for process in reading.processes or ()] == [1 << 30]
    assert order == ["numbers", "processes"]


def test_processes_that_are_not_known_or_not_requested_are_absent(build: Build) -> None:
    request = Request(slow=True, processes=True, groups=frozenset())
    left = Request(slow=True, processes=False, groups=frozenset())

    def never() -> list[Process]:
        raise AssertionError("nobody asked for them")

    assert reading_of(build(), request, Absence.ERROR).absent == {("processes",): Absence.ERROR}
    for processes in (never, Absence.ERROR):
        reading = reading_of(build(), left, processes)
        assert reading.absent == {("processes",): Absence.NOT_COLLECTED}
