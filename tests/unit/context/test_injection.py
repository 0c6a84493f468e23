"""S38 to S40: positions and roles by name, the order of a prompt, numbers for hosts."""

from __future__ import annotations

import pytest

from core.context.injection import KEY, check_depth, from_number, to_number, to_numbers


def test_s38_s40_numbers_of_positions() -> None:
    assert [to_number(name) for name in ("in_prompt", "in_chat", "before_prompt", None)] == [0, 1, 2, -1]
    assert from_number(2, "seed") == "after_prompt"
    assert [from_number(n) for n in (0, 1, 2, -1)] == ["in_prompt", "in_chat", "before_prompt", None]
    assert [from_number(n, "seed") for n in (0, 1, -1)] == ["in_prompt", "in_chat", None]
    for wrong in (3, -2):
        with pytest.raises(ValueError, match="-1, 0, 1 or 2"):
            from_number(wrong)
    with pytest.raises(ValueError, match="'host' or 'seed'"):
        from_number(2, "other")
    with pytest.raises(ValueError, match="middle"):
        to_number("middle")
    with pytest.raises(ValueError, match="at least 0"):
        check_depth(-1)


def test_s40_roles_have_numbers_and_after_prompt_becomes_1_with_depth_1() -> None:
    made = {"key": KEY, "value": "x", "position": "after_prompt", "depth": 7, "scan": True, "role": "assistant"}
    assert to_numbers(made) == {"key": KEY, "value": "x", "position": 1, "depth": 1, "scan": True, "role": 2}
    assert [to_numbers({**made, "role": role})["role"] for role in ("system", "user")] == [0, 1]
    assert made["position"] == "after_prompt"
    assert to_numbers({**made, "position": "in_chat"})["depth"] == 7
    assert to_numbers({**made, "value": ""})["position"] == -1
