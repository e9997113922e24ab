"""The modules beside the tests assert too; pytest is to say what of."""

import pytest

pytest.register_assert_rewrite(
    "fleet.misbehaving_targets.short_waits", "fleet.misbehaving_targets.processes"
)
