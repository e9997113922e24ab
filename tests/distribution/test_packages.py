"""Packages of the distributions, over a small stand-in for the program; CI builds the real ones."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deb_package import build_deb
from package_contents import Package, packages
from package_tree import SERVICES, lay_out_environment, lay_out_man_page, lay_out_service
from rpm_package import build_rpm, spec_text

PROGRAM, *OF_SERVICES = packages()
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MAIN = "def main():\n    print('this is accelwatch')\n    return 0\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with a program that says who it is."""
    folder = tmp_path / "root"
    folder.mkdir(mode=0o755)
    site = lay_out_environment(folder, Path(sys.executable))
    (site / "accelwatch").mkdir()
    (site / "accelwatch/__init__.py").touch()
    (site / "accelwatch/__main__.py").write_text(MAIN, encoding="utf-8")
    (site / "a file with 100% spaces").touch()
    page = tmp_path / "accelwatch.1"
    page.write_text(".TH ACCELWATCH 1\n", encoding="utf-8")
    lay_out_man_page(folder, page)
    return folder


def output(*words: str | Path) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def need(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


def laid_out(package: Package, folder: Path) -> Path:
    folder.mkdir(mode=0o755)
    assert package.service is not None
    lay_out_service(folder, package.service)
    return folder


def test_the_command_runs_in_its_own_environment_wherever_the_tree_lies(root: Path) -> None:
    command = root / "usr/lib/accelwatch/bin/accelwatch"
    link = root / "usr/bin/accelwatch"
    assert link.resolve() == command
    assert os.access(command, os.X_OK)
    interpreter = Path(f"/usr/bin/python{PYTHON}")
    if not interpreter.exists():
        pytest.skip(f"the system has no {interpreter}")
    run_by = root / "usr/lib/accelwatch/bin/python"
    assert output(run_by, "-I", command) == "this is accelwatch\n"


def test_a_deb_has_every_file_and_needs_the_interpreter(root: Path, tmp_path: Path) -> None:
    need("dpkg-deb")
    built = build_deb(PROGRAM, root, tmp_path, "1.2", PYTHON)
    assert output("dpkg-deb", "-f", built, "Depends").strip() == f"python{PYTHON}"
    assert output("dpkg-deb", "-f", built, "Version").strip() == "1.2"
    listed = output("dpkg-deb", "-c", built)
    for name in ("/usr/bin/accelwatch", "/usr/share/man/man1/accelwatch.1.gz", "100% spaces"):
        assert name in listed
    assert {line.split()[1] for line in listed.splitlines()} == {"root/root"}


@pytest.mark.parametrize("package", OF_SERVICES, ids=lambda one: one.name)
def test_a_service_s_deb_has_its_unit_and_keeps_changed_configuration(
    package: Package, tmp_path: Path
) -> None:
    need("dpkg-deb")
    service = package.service
    assert service is not None
    built = build_deb(package, laid_out(package, tmp_path / "root"), tmp_path, "1.2", PYTHON)
    assert output("dpkg-deb", "-f", built, "Depends").strip() == "accelwatch (= 1.2)"
    assert output("dpkg-deb", "-f", built, "Architecture").strip() == "all"
    config = f"/etc/accelwatch/{service.config.name}"
    assert output("dpkg-deb", "-I", built, "conffiles") == f"{config}\n"
    listed = output("dpkg-deb", "-c", built)
    assert f"./usr/lib/systemd/system/{service.unit.name}" in listed
    for script in ("postinst", "prerm", "postrm"):
        text = output("dpkg-deb", "-I", built, script)
        assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0
    # An upgrade neither stops the service for good nor purges anything.
    assert 'if [ "$1" = remove ]' in output("dpkg-deb", "-I", built, "prerm")


@pytest.mark.parametrize("package", packages(), ids=lambda one: one.name)
def test_an_rpm_has_the_same_files(package: Package, root: Path, tmp_path: Path) -> None:
    need("rpmbuild")
    tree = root if package.service is None else laid_out(package, tmp_path / "service")
    files = {
        f"/{path.relative_to(tree)}"
        for path in tree.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    out = tmp_path / "out"
    out.mkdir()
    built = build_rpm(package, tree, out, "1.2", PYTHON)
    listed = set(output("rpm", "-qpl", built).splitlines()) - {"/usr/lib/accelwatch"}
    assert listed == files
    assert set(output("rpm", "-qpc", built).splitlines()) == set(package.config_files)
    needs = output("rpm", "-qpR", built)
    wanted = f"/usr/bin/python{PYTHON}" if package.service is None else "accelwatch = 1.2-1"
    assert wanted in needs
    assert list(out.iterdir()) == [built]


def test_only_a_removal_stops_a_service_of_an_rpm(tmp_path: Path) -> None:
    package = OF_SERVICES[0]
    text = spec_text(package, laid_out(package, tmp_path / "root"), "1.2", PYTHON)
    before = text.partition("%preun")[2].partition("%postun")[0]
    assert before.strip().startswith('if [ "$1" = 0 ]; then')
    assert "systemctl disable --now accelwatch-agent.service" in before


def test_units_and_configurations_are_those_of_the_examples() -> None:
    assert [one.name for one in SERVICES] == ["agent", "hub"]
    for service in SERVICES:
        assert f"/etc/accelwatch/{service.config.name}" in service.unit.read_text(encoding="utf-8")


def test_the_lock_has_a_hash_for_each_dependency_of_the_project() -> None:
    import tomllib

    repository = Path(__file__).parents[2]
    lock = (repository / "requirements/run.lock").read_text(encoding="utf-8")
    locked = {line.partition("==")[0] for line in lock.splitlines() if "==" in line}
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {text.partition(">=")[0] for text in project["dependencies"]}
    assert wanted <= locked
    dev = (repository / "requirements/dev.lock").read_text(encoding="utf-8")
    for line in lock.splitlines():
        if line.startswith(tuple(wanted)) and "==" in line:
            assert line in dev.splitlines(), (
                "run.lock and dev.lock have the same versions: make lock"
            )
