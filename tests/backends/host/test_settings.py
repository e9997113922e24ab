"""Settings of the kernel and versions of libraries: what they are, why one is not known, how often."""

import shutil
from pathlib import Path

import pytest

from accelwatch.backend import Context, Request
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.reading import Reading
from accelwatch_host import HostBackend
from accelwatch_host.kernel_settings import MOST_CHARACTERS, options
from accelwatch_host.settings_mapping import EVERY_S
from support.machines.samples import FIXTURES

NODE = FIXTURES / "host/hgx-ib2/root"
ON = Request(groups=frozenset({"host"}))
LIBRARIES = "usr/lib/x86_64-linux-gnu"
Found = dict[str, str | Absence]


class Host:
    """A backend on a clock of its own."""

    def __init__(self, root: Path) -> None:
        self.clock = ManualClock()
        self._backend = HostBackend(Context(root=root, clock=self.clock))
        self._backend.open()

    def read(self) -> Reading:
        (device,) = self._backend.discover()
        return self._backend.read(device, ON)[0]

    def found(self, key: str) -> Found:
        """By the first label the value, or why there is none."""
        reading = self.read()
        known: Found = {one[1]: one[2] for one in reading.values if one[0] == key}
        lacking = {one[1]: why for one, why in reading.absent.items() if one[0] == key}
        assert not known.keys() & lacking.keys()
        return {**known, **lacking}


def settings(root: Path) -> Found:
    return Host(root).found("host_setting_info")


def libraries(root: Path) -> Found:
    return Host(root).found("host_library_info")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return Path(shutil.copytree(NODE, tmp_path / "root", symlinks=True))


def test_settings_are_reported_by_name_and_those_the_kernel_lacks_are_unsupported() -> None:
    found = settings(NODE)
    assert found["kernel.numa_balancing"] == "0"
    assert found["vm.max_map_count"] == "1048576"
    assert found["net.ipv4.tcp_rmem"] == "4096 87380 134217728"
    assert found["transparent_hugepage"] == "madvise"
    assert found["transparent_hugepage_defrag"] == "madvise"
    assert found["iommu_domain"] == "identity"
    assert found["smt"] == "on"
    assert found["cpu_governor"] is Absence.UNSUPPORTED
    assert found["vm.compaction_proactiveness"] is Absence.UNSUPPORTED


def test_of_the_command_line_only_known_options_are_reported() -> None:
    found = {
        name.removeprefix("cmdline."): value
        for name, value in settings(NODE).items()
        if name.startswith("cmdline.")
    }
    assert found["iommu"] == "pt"
    assert found["intel_iommu"] == "on"
    assert found["pci"] == "realloc=off disable_acs_redir=pci:10b5:8747"
    assert found["amd_iommu"] == "not given"
    assert found["mitigations"] == "not given", "it stands after --, and is for init"
    assert not any("luks" in name or "secret" in str(value) for name, value in found.items())


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", {}),
        ("iommu=off iommu=pt", {"iommu": "off pt"}),
        ("processor.max-cstate=1", {"processor.max_cstate": "1"}),
        ("nohz_full", {"nohz_full": "given"}),
        ('isolcpus="1-3, 5" quiet', {"isolcpus": "1-3, 5"}),
        ('other="a pci=noacs" pci=realloc', {"pci": "realloc"}),
    ],
)
def test_options_of_a_command_line(line: str, found: dict[str, str]) -> None:
    assert options(line) == found


def test_a_kernel_without_a_command_line_to_read_has_no_options(node: Path) -> None:
    (node / "proc/cmdline").unlink()
    found = settings(node)
    assert found["cmdline.iommu"] is Absence.UNSUPPORTED
    assert found["vm.swappiness"] == "10"


@pytest.mark.parametrize("text", ["", "always madvise never", "\x1b[31mred]"])
def test_what_is_no_value_is_an_error(node: Path, text: str) -> None:
    (node / "sys/kernel/mm/transparent_hugepage/enabled").write_text(text)
    found = settings(node)["transparent_hugepage"]
    assert found == ("31mred" if "\x1b" in text else Absence.ERROR)


def test_a_value_is_bounded_and_printable(node: Path) -> None:
    (node / "proc/sys/vm/swappiness").write_text("9" * 5000)
    (node / "proc/sys/vm/overcommit_memory").write_text("1\x1b[2J")
    found = settings(node)
    assert found["vm.swappiness"] == "9" * MOST_CHARACTERS
    assert found["vm.overcommit_memory"] is Absence.ERROR


def test_both_are_read_again_only_after_a_while(node: Path) -> None:
    host = Host(node)
    assert host.found("host_setting_info")["vm.swappiness"] == "10"
    (node / "proc/sys/vm/swappiness").write_text("60\n")
    (node / LIBRARIES / "libnccl.so.2").unlink()
    host.clock.advance(EVERY_S - 1)
    assert host.found("host_setting_info")["vm.swappiness"] == "10"
    assert host.found("host_library_info")["nccl"] == "2.21.5"
    host.clock.advance(1)
    assert host.found("host_setting_info")["vm.swappiness"] == "60"
    assert host.found("host_library_info")["nccl"] is Absence.UNSUPPORTED


def test_nothing_is_read_while_the_group_is_off() -> None:
    backend = HostBackend(Context(root=NODE))
    backend.open()
    (device,) = backend.discover()
    assert not backend.read(device, Request())[0].values


def link(node: Path, location: str, target: str) -> None:
    """A link in place of what is there."""
    path = node / location
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def test_a_library_has_the_version_of_the_file_that_its_links_lead_to(node: Path) -> None:
    assert libraries(node) == {"nccl": "2.21.5", "rccl": Absence.UNSUPPORTED}
    link(node, "opt/rocm", "rocm-7.2.0")
    link(node, "opt/rocm-7.2.0/lib/librccl.so.1", "librccl.so.1.0.70200")
    (node / "opt/rocm-7.2.0/lib/librccl.so.1.0.70200").touch()
    assert libraries(node)["rccl"] == "1.0.70200"


def test_the_path_in_the_cache_of_ldconfig_comes_first(node: Path) -> None:
    (node / "etc/ld.so.cache").write_bytes(
        b"glibc-ld.so.cache1.1\0libnccl.so.2\0/opt/nccl/lib/libnccl.so.2\0/x/libnccl.so.20\0"
    )
    link(node, "opt/nccl/lib/libnccl.so.2", "/srv/nccl/libnccl.so.2.27.3")
    (node / "srv/nccl").mkdir(parents=True)
    (node / "srv/nccl/libnccl.so.2.27.3").touch()
    assert libraries(node)["nccl"] == "2.27.3"
    (node / "srv/nccl/libnccl.so.2.27.3").unlink()
    assert libraries(node)["nccl"] == "2.21.5", "the link leads to nothing"


def test_a_file_without_a_version_in_its_name_does_not_report_one(node: Path) -> None:
    (node / LIBRARIES / "libnccl.so.2").unlink()
    (node / LIBRARIES / "libnccl.so.2").touch()
    assert libraries(node)["nccl"] is Absence.UNSUPPORTED


def test_links_in_a_circle_end(node: Path) -> None:
    link(node, f"{LIBRARIES}/libnccl.so.2", "libnccl.so.2.21.5")
    link(node, f"{LIBRARIES}/libnccl.so.2.21.5", "libnccl.so.2")
    assert libraries(node)["nccl"] is Absence.NOT_COLLECTED


@pytest.mark.parametrize(
    "target", ["/home/lib/libnccl.so.2.27.3", "../../../home/libnccl.so.2.27.3"]
)
def test_a_file_on_a_network_file_system_is_not_looked_at(
    node: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    link(node, f"{LIBRARIES}/libnccl.so.2", target)
    (node / "home/lib").mkdir(parents=True)
    (node / "home/lib/libnccl.so.2.27.3").touch()
    looked: list[str] = []
    before = Path.readlink

    def readlink(path: Path) -> Path:
        looked.append(str(path))
        return before(path)

    monkeypatch.setattr(Path, "readlink", readlink)
    assert libraries(node)["nccl"] is Absence.NOT_COLLECTED
    assert looked
    assert not any(path.startswith(str(node / "home")) for path in looked)


def test_no_version_is_given_when_the_first_path_is_on_a_network_file_system(node: Path) -> None:
    (node / "etc/ld.so.cache").write_bytes(
        b"glibc-ld.so.cache1.1\0/home/nccl/libnccl.so.2\0/opt/nccl/lib/libnccl.so.2\0"
    )
    link(node, "opt/nccl/lib/libnccl.so.2", "libnccl.so.2.27.3")
    (node / "opt/nccl/lib/libnccl.so.2.27.3").touch()
    assert libraries(node)["nccl"] is Absence.NOT_COLLECTED


def test_a_path_on_a_network_file_system_after_the_first_file_does_not_matter(node: Path) -> None:
    (node / "etc/ld.so.cache").write_bytes(
        b"glibc-ld.so.cache1.1\0/opt/nccl/lib/libnccl.so.2\0/home/nccl/libnccl.so.2\0"
    )
    link(node, "opt/nccl/lib/libnccl.so.2", "libnccl.so.2.27.3")
    (node / "opt/nccl/lib/libnccl.so.2.27.3").touch()
    assert libraries(node)["nccl"] == "2.27.3"


def test_without_a_table_of_mounts_no_file_is_looked_for(node: Path) -> None:
    (node / "proc/self/mounts").unlink()
    assert set(libraries(node).values()) == {Absence.UNSUPPORTED}
