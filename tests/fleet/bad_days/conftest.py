"""The modules beside the tests assert too; pytest is to say what of."""

import pytest

pytest.register_assert_rewrite("fleet.bad_days.ward", "fleet.bad_days.processes")
