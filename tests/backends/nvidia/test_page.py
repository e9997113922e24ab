"""docs/backends/nvidia.md names every quantity and every call of the tables."""

import pytest

from accelwatch_nvidia.quantities.calls import CALLS
from accelwatch_nvidia.quantities.fields import FIELDS
from accelwatch_nvidia.smi import rows as smi_rows
from support.machines.samples import FIXTURES

PAGE = (FIXTURES.parent / "docs/backends/nvidia.md").read_text()

KEYS = sorted(
    {series[0] for row in CALLS for series in row.series}
    | {row.series[0] for row in FIELDS}
    | {row.series[0] for row in smi_rows.ROWS}
)


@pytest.mark.parametrize("key", KEYS)
def test_the_page_names_each_quantity(key: str) -> None:
    assert f"`{key}`" in PAGE


@pytest.mark.parametrize("function", sorted({name for row in CALLS for name in row.functions}))
def test_the_page_names_each_call(function: str) -> None:
    assert f"`{function}`" in PAGE
