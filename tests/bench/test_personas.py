"""The simulation of many personas: uneven use, figures of every band, nothing that fails."""

from __future__ import annotations

import pytest

from tests.bench.personas import EXPONENT, lines_of, main, name_of, weights

pytestmark = pytest.mark.engines("sqlite")


def test_a_few_personas_take_most_of_the_calls() -> None:
    """What the figures are about: of 10,000 personas the first hundred take two fifths of the calls."""
    shares = weights(10_000)
    assert 0.3 < sum(shares[:100]) / sum(shares) < 0.6
    assert shares[9] == pytest.approx(10**-EXPONENT)
    assert len({name_of(rank) for rank in range(10_000)}) == 10_000
    assert min(lines_of(1000, 5, 200)) == 5


@pytest.mark.slow
def test_it_runs_and_prints_what_is_hot(capsys: pytest.CaptureFixture[str]) -> None:
    """Six personas and forty calls of one host: each band has a row, and no call fails."""
    assert main(["--personas", "6", "--most", "12", "--hosts", "1", "--calls", "40"]) == 0
    printed = capsys.readouterr().out
    assert "0 errors" in printed
    assert all(name in printed for name in ("the busiest hundredth", "all others", "together", "| search |"))
