import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import PluginError
from accelwatch.node.sampler.one_shot import read_once
from accelwatch.node.sampler.protocol.load import Absent, absent, resolve
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.plugins import entry_points as plugins
from accelwatch.schema.snapshot import BackendState


def test_replay_is_only_for_who_requests_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "replay" not in resolve(CollectSettings())
    assert list(resolve(CollectSettings(backends=("replay",)))) == ["replay"]
    assert "host" not in resolve(CollectSettings(without=frozenset({"host"})))
    monkeypatch.setenv("ACCELWATCH_DISABLE_PLUGINS", "amd,intel")
    assert not {"amd", "intel"} & resolve(CollectSettings()).keys()


@pytest.mark.parametrize("name", ["nowhere", "nowhere:Backend", "node.sampler.fakes:Nobody"])
def test_what_cannot_be_loaded_says_so_when_it_is_loaded(name: str) -> None:
    with pytest.raises(PluginError, match="backend|plug-in"):
        resolve(CollectSettings(backends=(name,)))[name]()


ZEROS = "\t0" * 15


def bus(root: Path, *functions: str) -> str:
    """A root whose PCI table has these functions, each `vendor driver`."""
    table = root / "proc/bus/pci/devices"
    table.parent.mkdir(parents=True, exist_ok=True)
    rows = (function.partition(" ") for function in functions)
    table.write_text(
        "".join(f"0100\t{vendor}0001{ZEROS}\t{driver}\n" for vendor, _, driver in rows)
    )
    return str(root)


def test_a_driver_stack_without_a_device_on_the_bus_is_not_loaded(tmp_path: Path) -> None:
    root = bus(tmp_path, "8086 ", "10de nvidia")
    left_out = absent(CollectSettings(root=root)).keys()
    assert left_out >= {"amd", "intel", "rebellions"}
    assert "nvidia" not in left_out
    (tmp_path / "sys").mkdir()
    read = read_once(CollectSettings(root=root, timeout_s=30, without=frozenset({"nvidia"})))
    states = {status.name: (status.state, status.message) for status in read.backends}
    assert states["amd"] == (BackendState.ABSENT, "no PCI function of vendor or driver 1002")
    assert states["intel"][0] is BackendState.ABSENT


@pytest.mark.parametrize(("function", "name"), [("1002 ", "amd"), ("8086 xe", "intel")])
def test_a_device_on_the_bus_has_its_driver_stack_loaded(
    tmp_path: Path, function: str, name: str
) -> None:
    assert name not in absent(CollectSettings(root=bus(tmp_path, function)))


def test_who_requests_by_name_or_gives_options_has_it_loaded(tmp_path: Path) -> None:
    root = bus(tmp_path, "10de nvidia")
    assert absent(CollectSettings(root=root, backends=("amd",))) == {}
    assert "amd" not in absent(CollectSettings(root=root, options={"amd": {"amdsmi": "off"}}))


def test_without_a_table_of_the_bus_its_backends_are_loaded(tmp_path: Path) -> None:
    left_out = absent(CollectSettings(root=str(tmp_path)))
    assert set(left_out) == {"accel", "apple", "jetson"}
    assert left_out["accel"] == "nothing at /sys/class/accel"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("sys/class/accel/accel0", "accel"),
        ("proc/device-tree/compatible", "jetson"),
        ("System/Library/CoreServices/SystemVersion.plist", "apple"),
    ],
)
def test_a_path_with_something_in_it_has_its_backend_loaded(
    tmp_path: Path, path: str, name: str
) -> None:
    root = bus(tmp_path, "8086 ")
    mark = tmp_path / path
    mark.parent.mkdir(parents=True)
    assert name in absent(CollectSettings(root=root))
    mark.touch()
    assert name not in absent(CollectSettings(root=root))


def test_a_backend_with_marks_of_both_kinds_is_loaded_for_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = {
        plugins.BACKENDS: {"both": "b:B"},
        plugins.PRESENCE: {"1234": "b:B", "/dev/both": "b:B", "/dev/other": "b:B"},
    }
    monkeypatch.setattr(plugins, "addresses", groups.__getitem__)
    assert absent(CollectSettings(root=str(tmp_path))) == {}
    missed = "no PCI function of vendor or driver 1234, nothing at /dev/both, /dev/other"
    assert absent(CollectSettings(root=bus(tmp_path, "10de "))) == {"both": missed}
    assert absent(CollectSettings(root=bus(tmp_path, "1234 "))) == {}
    root = bus(tmp_path, "10de ")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/other").touch()
    assert absent(CollectSettings(root=root)) == {}


def test_the_bus_is_looked_at_again_after_a_while(tmp_path: Path) -> None:
    clock = ManualClock()
    reason = Absent(CollectSettings(root=bus(tmp_path, "10de nvidia")), clock)
    assert reason("amd") == "no PCI function of vendor or driver 1002"
    assert not reason("nvidia")
    bus(tmp_path, "1002 amdgpu")
    clock.advance(4.9)
    assert reason("amd")
    clock.advance(0.1)
    assert not reason("amd")


def test_backends_that_are_brought_up_together_look_at_the_bus_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def slow(_: Path) -> frozenset[str]:
        looks.append(1)
        time.sleep(0.01)  # so that the others come meanwhile
        return frozenset()

    monkeypatch.setattr("accelwatch.node.sampler.protocol.load.on_bus", slow)
    reason = Absent(CollectSettings(root=str(tmp_path)), ManualClock())
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(reason, ["amd"] * 4))
    assert looks == [1]


def test_what_stands_for_presence_is_a_backend() -> None:
    owners = set(plugins.addresses(plugins.PRESENCE).values())
    assert owners <= set(plugins.addresses(plugins.BACKENDS).values())
    assert owners


FAKE = "node.sampler.fakes:Fake"


@pytest.mark.parametrize("names", [(FAKE,), (FAKE, "node.sampler.fakes:Second"), (FAKE, "replay")])
def test_a_backend_may_be_named_by_its_address(names: tuple[str, ...]) -> None:
    from node.sampler.fakes import Fake

    found = resolve(CollectSettings(backends=names))
    assert tuple(found) == names
    assert found[FAKE]() is Fake
    assert [callable(load()) for load in found.values()] == [True] * len(names)


def test_addresses_alone_need_no_list_of_what_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: str) -> dict[str, str]:
        raise AssertionError("was looked for")

    monkeypatch.setattr(plugins, "addresses", refuse)
    assert list(resolve(CollectSettings(backends=(FAKE,)))) == [FAKE]
    with pytest.raises(AssertionError):
        resolve(CollectSettings(backends=(FAKE, "replay")))


def test_a_name_that_is_not_installed_is_answered_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plugins, "addresses", lambda _: {"one": "a:A", "two": "b:B"})
    with pytest.raises(PluginError) as caught:
        resolve(CollectSettings(backends=("three",)))["three"]()
    assert str(caught.value) == "no backend 'three'; installed: one, two"


def test_all_marks_of_a_missing_stack_are_named(tmp_path: Path) -> None:
    marks = plugins.addresses(plugins.PRESENCE)
    intel = plugins.addresses(plugins.BACKENDS)["intel"]
    named = ", ".join(mark for mark, owner in marks.items() if owner == intel)
    assert "," in named
    found = absent(CollectSettings(root=bus(tmp_path, "10de nvidia")))
    assert found["intel"] == f"no PCI function of vendor or driver {named}"
