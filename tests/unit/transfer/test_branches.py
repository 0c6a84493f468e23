"""Chats that branch: what is shown, what stands beside it, whatever the file says of itself (R24)."""

from datetime import UTC, datetime, timedelta

from core.transfer.formats.branches import Node, Shown, choose_branch

BEGUN = datetime(2026, 3, 10, 12, tzinfo=UTC)


def _node(told: str, minute: int | None = None) -> Node:
    """Return a node of `id<parent`: ids beginning with u, a are the two who speak, others hold no words."""
    key, _, parent = told.partition("<")
    role = {"u": "user", "a": "assistant"}.get(key[0], "")
    at = None if minute is None else BEGUN + timedelta(minutes=minute)
    return Node(key, parent, role, f"text {key}" if role else "", at)


def _branch(told: str, current: str) -> list[Shown]:
    nodes = [_node(each, number) for number, each in enumerate(told.split())]
    return choose_branch(nodes, current, BEGUN, BEGUN)


def _ids(branch: list[Shown]) -> str:
    return " ".join(line.node.id for line in branch)


def test_r24_the_branch_goes_by_parents_alone_and_ends_where_they_go_round() -> None:
    """Who lists whom as a child is wrong in many exports; without a last message it is the last of the file."""
    assert _ids(_branch("r u1<r h<u1 a1<h u2<a1 a2<u2", "a2")) == "u1 a1 u2 a2"
    assert _ids(_branch("u1 a1<u1 a2<u1", "gone")) == "u1 a2"
    assert sorted(_ids(_branch("u1<a1 a1<u1", "a1")).split()) == ["a1", "u1"]
    assert _ids(_branch("u1<u1 a1<u1", "a1")) == _ids(_branch("h1<h2 h2<h1 u1<h1 a1<u1", "a1")) == "u1 a1"


def test_r24_versions_stand_beside_the_line_and_times_never_fall_along_a_branch() -> None:
    branch = _branch("u1 t1<u1 a1<t1 a2<u1 u2<a2 u3<a2 a3<u3", "a3")
    assert _ids(branch) == "u1 a2 u3 a3"
    versions = [[version.id for version in line.versions] for line in branch]
    assert versions == [["u1"], ["a1", "a2"], ["u2", "u3"], ["a3"]]
    versions = [[version.id for version in line.versions] for line in _branch("u1 a1<u1 u2<a1 a3<u2 a2<u1", "a2")]
    assert versions == [["u1", "u2"], ["a1", "a3", "a2"]]  # what was said further down there is not lost
    nodes = [_node("u1"), _node("a1<u1", 5), _node("u2<a1", 3), _node("a2<u2")]
    branch = choose_branch(nodes, "a2", BEGUN, BEGUN)
    assert [line.at for line in branch] == [BEGUN + timedelta(minutes=minute) for minute in (0, 5, 5, 5)]
    # a chain of twenty thousand is walked
    told = ["u0", *(f"{'h' if n % 3 else 'a'}{n}<{'h' if (n - 1) % 3 else 'a'}{n - 1}" for n in range(1, 20_000))]
    told[1] = "h1<u0"
    assert len(_branch(" ".join(told), "a19998")) > 6_000
