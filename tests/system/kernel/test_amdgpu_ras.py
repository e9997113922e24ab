"""What amdgpu's counts of hardware errors mean, whoever tells them."""

import pytest

from accelwatch.system.kernel.amdgpu_ras import believable, event_code


@pytest.mark.parametrize(
    ("count", "corrected", "others"),
    [
        (-1, False, False),
        (0, True, True),
        (65_535, True, True),
        (1_048_559, True, True),
        (1_048_560, False, False),
        (1_048_561, True, False),
        (2_097_120, False, False),
        (3_145_680, False, False),
    ],
)
def test_a_count_of_a_sleeping_block_is_not_believed(
    count: int, corrected: bool, others: bool
) -> None:
    assert believable(count, corrected=True) is corrected
    assert believable(count, corrected=False) is others


def test_a_block_that_nobody_knows_shares_a_code() -> None:
    assert event_code("UMC") == "ras_umc"
    assert event_code("mmsch") == "ras_mmsch"
    assert event_code("brand_new") == "ras_other"
