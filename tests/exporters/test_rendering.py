"""Exporters are found by name, ours as a stranger's; a broken one is an error with its name."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from accelwatch.base.errors import PluginError, UsageError
from accelwatch.exposition.exporter import Exporter
from accelwatch.node.rendering import exporter_of, formats, rendered
from accelwatch.schema.snapshot import Snapshot
from support.machines.composed import device, snapshot, view
from support.processes.installed_command import PATIENT, accelwatch

STRANGER = """
class Names:
    name = "names"
    content_type = "text/plain"
    options = frozenset({{"fields", "groups"}})

    def render(self, snapshot, options):
        assert set(options) <= self.options, options
        {body}

class Half:
    name = "half"

def Never():
    raise OSError("no licence")
"""
NAMES = (
    "return ''.join(f'{one.device.name} {options[\"fields\"]}\\n'"
    " for one in snapshot.devices).encode()"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path with a stranger's distribution."""
    (tmp_path / "stranger_of_formats.py").write_text(STRANGER.format(body=NAMES))
    metadata = tmp_path / "stranger-1.0.dist-info"
    metadata.mkdir()
    lines = (f"{name} = stranger_of_formats:{name.title()}" for name in ("names", "half", "never"))
    (metadata / "entry_points.txt").write_text("\n".join(("[accelwatch.exporters]", *lines)))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("stranger_of_formats", None)


@pytest.mark.parametrize("name", ["json", "csv", "prometheus"])
def test_ours_are_exporters_of_their_names(name: str) -> None:
    found = exporter_of(name)
    assert (found.name, found is exporter_of(name)) == (name, False)
    assert rendered(found, snapshot(), {"nobody_knows": 1}) == found.render(snapshot(), {})


def test_a_strangers_format_is_written(folder: Path) -> None:
    environ = {"PYTHONPATH": str(folder)}
    words = ("--replay", "demo", "--format=names", "-d", "nvidia:0", *PATIENT)
    run = accelwatch(*words, environ=environ)
    assert (run.returncode, run.stdout) == (0, "nvidia0 ()\n"), run.stderr
    watched = ("--watch", "250ms", "-n", "2", "--fields", "power_watts")
    run = accelwatch(*words, *watched, environ=environ)
    assert run.stdout == "nvidia0 ('power_watts',)\n" * 2, run.stderr


def test_a_format_that_is_not_installed_is_a_mistake(folder: Path) -> None:
    run = accelwatch("--format", "nmaes", environ={"PYTHONPATH": str(folder)})
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "accelwatch: no format 'nmaes'; did you mean names?\n"
    run = accelwatch("--format", "names")
    assert run.returncode == 2
    assert "there are table, json, csv, prometheus" in run.stderr


def test_a_strangers_format_is_offered(folder: Path) -> None:
    assert set(formats()) == {"csv", "half", "json", "names", "never", "prometheus"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("half", "exporter half breaks its contract: .* is not an Exporter"),
        ("never", r"exporter never cannot be built: OSError\('no licence'\)"),
        ("nobody", "no accelwatch.exporters plug-in 'nobody'; installed: csv, half, json"),
    ],
)
def test_a_broken_exporter_is_reported_by_its_name(folder: Path, name: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        exporter_of(name)


class Fails:
    name = "fails"
    content_type = "text/plain"
    options = frozenset({"how"})

    def render(self, snapshot: Snapshot, options: Mapping[str, object]) -> bytes:
        how = options.get("how")
        if isinstance(how, Exception):
            raise how
        return how  # type: ignore[return-value]  # a stranger who does not check types


def test_what_an_exporter_does_wrong_is_an_error_with_its_name() -> None:
    failing: Exporter = Fails()
    with pytest.raises(PluginError, match=r"exporter fails failed: KeyError\('x'\)"):
        rendered(failing, snapshot(), {"how": KeyError("x")})
    with pytest.raises(PluginError, match="exporter fails breaks its contract: a str is not bytes"):
        rendered(failing, snapshot(), {"how": "text"})
    with pytest.raises(UsageError, match="no such profile"):
        rendered(failing, snapshot(), {"how": UsageError("no such profile")})


def test_the_exposition_takes_the_servers_own_series() -> None:
    whole = snapshot()
    own = {("collector_vanished_quantities", "nvidia"): 3}
    plain = rendered(exporter_of("prometheus"), whole, {})
    text = rendered(exporter_of("prometheus"), whole, {"own": own})
    assert b"accel_collector_vanished_quantities" not in plain
    assert b'accel_collector_vanished_quantities{collector="nvidia"} 3' in text


def test_the_exposition_takes_the_servers_own_histograms() -> None:
    own = {"exporter_scrape_duration_seconds": ((1, 2, 3, 4, 5, 6, 7), 2.5)}
    text = rendered(exporter_of("prometheus"), snapshot(), {"own_histograms": own})
    assert b'accel_exporter_scrape_duration_seconds_bucket{le="0.001"} 1\n' in text
    assert b'accel_exporter_scrape_duration_seconds_bucket{le="+Inf"} 7\n' in text
    assert b"accel_exporter_scrape_duration_seconds_sum 2.5\n" in text


def test_the_exposition_takes_what_is_chosen() -> None:
    exporter, whole = exporter_of("prometheus"), snapshot()
    plain = rendered(exporter, whole, {})
    minimal = rendered(exporter, whole, {"profile": "minimal"})
    assert (b"accel_pcie_bytes_total{" in plain, b"accel_pcie_bytes_total{" in minimal) == (
        True,
        False,
    )
    assert rendered(exporter, whole, {"openmetrics": True}).endswith(b"# EOF\n")
    assert b"accel_device_inventory_info{" in plain
    assert b"accel_device_inventory_info{" not in rendered(exporter, whole, {"inventory": False})
    assert b"accel_device_up{" not in rendered(exporter, whole, {"backends": {"nobody"}})
    with pytest.raises(UsageError, match="no profile 'mimimal'; there are minimal, default"):
        rendered(exporter, whole, {"profile": "mimimal"})


def test_the_exposition_is_utf_8_whatever_a_device_is_called() -> None:
    whole = snapshot(view(0, device=device(0, name="caf\u00e9 \udcff")))
    text = rendered(exporter_of("prometheus"), whole, {}).decode()
    assert 'device="caf\u00e9 \\\\udcff"' in text
