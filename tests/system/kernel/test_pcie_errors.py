"""Totals of the kernel's advanced error reporting, whoever reads the files."""

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel.pcie_errors import collect_errors

CORRECTABLE = "RxErr 2\nBadTLP 0\nTOTAL_ERR_COR 2\n"


def test_totals_are_reported_by_severity() -> None:
    files: dict[str, str | Absence] = {
        "aer_dev_correctable": CORRECTABLE,
        "aer_dev_nonfatal": Absence.PERMISSION,
        "aer_dev_fatal": "Undefined 1\nTOTAL_ERR_FATAL 1",
    }
    out = Collected("d")
    collect_errors(out, files.__getitem__)
    assert out.values == {
        ("pcie_errors_total", "correctable"): 2,
        ("pcie_errors_total", "fatal"): 1,
    }
    assert not out.absent


@pytest.mark.parametrize("count", ["", "-1", "2.0", "1_0", "9" * 5000, "1 1"])
def test_what_is_no_count_is_not_reported(count: str) -> None:
    out = Collected("d")
    collect_errors(out, lambda _: f"TOTAL_ERR_COR {count}\n")
    assert not out.values
