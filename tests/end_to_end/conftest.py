"""One Slurm, its agents and a hub for all tests of the folder: they take seconds to start."""

import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from support.slurm.lab_cluster import working_slurm
from support.slurm.site import SlurmSite, slurm_site

# Those with an agent; the last one is the spare.
NODES = ("n1", "n2", "n3", "n5")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the site's logs with a failure: its folder is gone when the tests have ended."""
    report = yield
    site = getattr(item, "funcargs", {}).get("site")
    if report.failed and isinstance(site, SlurmSite):
        report.sections.extend(site.logs().items())
    return report


@pytest.fixture(scope="package")
def site() -> Iterator[SlurmSite]:
    # A short path: munged's socket lies in it.
    with (
        tempfile.TemporaryDirectory(prefix="slurm", ignore_cleanup_errors=True) as name,
        working_slurm(Path(name)) as slurm,
    ):
        folder = Path(name) / "site"
        folder.mkdir()
        with slurm_site(folder, slurm, NODES) as site:
            yield site
