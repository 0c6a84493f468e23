"""Random histories: several processes, kills, a model (F40, F51, G16). `make histories` runs more of them."""

import pytest

from tests.histories.__main__ import run_history


@pytest.mark.slow
def test_g16_a_random_history_of_three_processes_ends_as_the_model_says() -> None:
    done = run_history(8, 30)
    assert done["killed"] and done["say"] and done["edit"] and done["delete"]
