"""Applies the tables of patterns to the parts (words, numbers) of a text, to merge parts that name a time."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise, takewhile
from typing import Any

from ...base.patterns import lazy_pattern
from .calendar import BREAK, UNITS
from .parts import TimePart, build_kinds, yearly
from .patterns import NEAR, TABLES, Found, Moment, Read, fall_on, list_seasons
from .spans import every_month, every_week, fixed, of_month

_WORDS_BETWEEN = {"x*": "(?:<[^>1-4]*[xI][^>1-4]*>){0,3}", "_*": r"(?:<[-+V~(xInAg!_\]]*>){1,6}"}
_AMOUNTS = frozenset("UWqgL")
"""Kinds of parts next to which a number is an amount."""
_CLAUSE_ENDS, _OVER = frozenset({BREAK, ","}), frozenset("~(")
_BEFORE = frozenset("I1234567LB")
_PLACES, _ENDS_DAY = frozenset("x,"), frozenset({BREAK, *",AP]8_"})
_HOURS, _AFTER_HOUR, _IN_OR_LAST = frozenset("Pc"), frozenset("CPNUfc"), frozenset("aLBe")
_PLAIN_TIMES, _LONGER_TIMES = frozenset("DWZNMEo"), frozenset("XUWMmN")
_NAMED, _SURE_YEAR, _COUNTING = frozenset("MWy"), frozenset("YZ"), frozenset("Nh")
_DETERMINERS, _GIVING, _LEADS_DATE = frozenset("xIL5"), frozenset("6+_"), frozenset("+Ww")
_MONTHS, _JOINING, _IN_LIST = frozenset("Mm"), frozenset("8,x"), frozenset("x,8IAn5")
_AROUND_YEAR = frozenset({BREAK, "-", "+"})
"""Kinds of parts after a year without a word before it: `Was ist 2015 passiert?`"""
_SURE = {"m": "M", "w": "W", "$": "S", ".": "y"}
EVERY = "\u2200"
"""Kind of a weekday that recurs: `every Friday`."""
_UNSURE = frozenset("DWwPmYSUod=$!.}")
"""Kinds of parts whose meaning depends on adjacent parts."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A pattern of parts, and the function that computes a time from the values of the matched parts."""

    pattern: re.Pattern[str]
    kinds: tuple[str, ...]
    """Kinds allowed in each group of the pattern."""
    read: Read
    begins: frozenset[str]
    """Kinds of the first part; it must have one of them."""
    needs: frozenset[str]
    """Kinds that a text must have for the pattern to match."""
    choices: tuple[frozenset[str], ...]
    """Groups of kinds; the text must have one kind of each group."""
    is_exact: bool
    """Whether the numbers of the pattern are dates or hours: a vague number such as `few` does not match."""


@lru_cache(maxsize=1)
def tables() -> tuple[tuple[Rule, ...], ...]:
    return tuple(tuple(_rule(*each) for each in table) for table in TABLES)


def _rule(pattern: str, read: Read) -> Rule:
    made, kinds = [], []
    for atom in pattern.split():
        if atom in _WORDS_BETWEEN:
            made.append(_WORDS_BETWEEN[atom])
        elif atom.startswith("!"):
            made.append(f"(?!<[^>]*[{atom[1:]}])")
        else:
            kinds.append(atom.strip("[]?") or atom)
            made.append(f"(<[^>]*[{kinds[-1]}][^>]*>){'?' * atom.endswith('?')}")
    first = next((n for n, atom in enumerate(pattern.split()) if not atom.endswith(("?", "x*"))), 0)
    begins = frozenset("".join(pattern.split()[: first + 1])) - set("[]?*")
    needed = [atom for atom in pattern.split() if not atom.startswith("!") and not atom.endswith(("?", "*"))]
    needs = frozenset(atom for atom in needed if len(atom) == 1)
    choices = tuple(frozenset(atom[1:-1]) for atom in needed if len(atom) > 1)
    is_exact = _AMOUNTS.isdisjoint("".join(kinds))
    return Rule(lazy_pattern("".join(made)), tuple(kinds), read, begins, needs, choices, is_exact)


def read_parts(m: Moment, parts: Sequence[TimePart]) -> list[TimePart]:
    sure: list[TimePart] = []  # with the certain meanings that a word before them gives: `in May`, `on the 6th`
    for n, part in enumerate(parts):
        if m.is_told and "a" in part.kinds:
            sure.append(_leave_duration(part, parts[:n]))
        else:
            sure.append(_make_sure(m, parts, n, sure) if _UNSURE & part.kinds.keys() else part)
    line = _Line(sure)
    for table in tables():
        kinds = line.kinds
        rules = [rule for rule in table if rule.needs <= kinds and not any(map(kinds.isdisjoint, rule.choices))]
        if rules:
            read = _apply(m, line, rules)
            line = line if read is line.parts else _Line(read)
    return list(line.parts)


def _leave_duration(part: TimePart, before: Sequence[TimePart]) -> TimePart:
    """Remove the meaning "from now" of the word `in` if its clause says how long something took."""
    clause = takewhile(lambda each: _CLAUSE_ENDS.isdisjoint(each.kinds), reversed(before))
    if not any(not _OVER.isdisjoint(each.kinds) for each in clause):  # `I read it in two days`
        return part
    return part._replace(kinds={kind: value for kind, value in part.kinds.items() if kind != "a"})


class _Line:
    """Parts of a text, and their kinds joined into one string, against which patterns are matched."""

    def __init__(self, parts: Sequence[TimePart]) -> None:
        codes = [f"<{''.join(part.kinds)}>" for part in parts]
        self.parts = parts
        self.text = "".join(codes)
        self.kinds = frozenset(self.text)
        self.offsets = list(accumulate(map(len, codes), initial=0))


def _make_sure(m: Moment, parts: Sequence[TimePart], n: int, made: Sequence[TimePart]) -> TimePart:
    """Return part `n` with its ambiguous kinds resolved by its neighbours; `made` are the resolved parts before it."""
    part = parts[n]
    kinds, back = dict(part.kinds), n - 1
    while back > 0 and parts[back].kinds.keys() <= _PLACES and parts[back].kinds:
        back -= 1
    is_led = n > 0 and not _BEFORE.isdisjoint(parts[back].kinds)
    follows = parts[n + 1].kinds if n + 1 < len(parts) else {BREAK: 0}
    for other in _find_others(parts, n, back, follows):
        kinds.pop(other, None)
    last = n - 1 - (n > 1 and "o" in parts[n - 1].kinds)  # `every second Sunday`
    is_habit = (n and "=" in parts[last].kinds) or ("=" in kinds and not (n and "N" in parts[n - 1].kinds))
    if is_habit:
        weekday = kinds.get("W", kinds.get("w"))
        every = {} if weekday is None else {EVERY: weekday}
        kinds = {kind: value for kind, value in kinds.items() if kind not in "DWw}"} | every
    one = made[n - 2].kinds if n > 1 and "8" in parts[n - 1].kinds else {}
    is_second = not _NAMED.isdisjoint(one) or one.keys() >= _SURE_YEAR
    is_sure = is_led or is_second or "6" in follows or len(parts) == 1
    is_date = (is_sure or (n > 0 and not _LEADS_DATE.isdisjoint(parts[n - 1].kinds))) and "U" not in follows
    is_season = (n > 0 and not _IN_OR_LAST.isdisjoint(parts[back].kinds)) or "Y" in follows
    if kinds.get("!") in UNITS and n and not _COUNTING.isdisjoint(parts[n - 1].kinds):
        kinds["U"] = kinds["!"]
    is_homonym = kinds.get("!") == "homonym"
    is_weekday = _is_proven(parts, n) if is_homonym else is_sure or is_weekday_beside(parts, n)
    sure = {"m": is_sure and not is_homonym, "w": is_weekday, "$": is_season, ".": is_date}
    kinds |= {_SURE[kind]: kinds[kind] for kind, fits in sure.items() if fits and kind in kinds}
    is_bare_year = m.lexicon.has_bare_years and (m.is_told or not _AROUND_YEAR.isdisjoint(follows))
    if "Y" in kinds and (is_sure or (is_bare_year and "U" not in follows)):
        kinds |= build_kinds(fixed(of_month(kinds["Y"], 1, 12), "year"))
    if is_led and "S" in kinds:
        kinds |= build_kinds(list_seasons(m, kinds["S"]))
    if m.is_told and (m.is_past or m.tense == "verbless") and not is_led and kinds.get("W") == m.today.weekday():
        kinds[")"] = kinds["W"]
    if kinds.get("U") == "weekend" and not is_habit and (is_led or (n and "x" in parts[n - 1].kinds)):
        kinds |= build_kinds(every_week(5, 2))
    is_day = is_led and "o" in kinds and "I" in parts[back].kinds
    is_day |= n > 0 and parts[n - 1].kinds.get("I") == "day" and bool(follows) and "5" not in follows
    is_day |= "o" in kinds and "d" in kinds and _is_appointment(parts, back if n else -1, n)
    is_day |= "d" in kinds and _is_behind_weekday(m, parts, n)
    if "d" in kinds and "N" not in kinds:  # `do piątego`, but not `do piątego piętra` or `Jana Pawła Drugiego`
        is_day |= (is_led and bool(follows)) or (kinds["d"] > 3 and (n == 0 or not _ENDS_DAY.isdisjoint(follows)))
    if is_day and "d" in kinds and not _LONGER_TIMES & follows.keys():
        kinds |= build_kinds(every_month(kinds["d"]))
        kinds.pop("N", None)  # `op de 4e om 8 uur` is no amount
    if "d" in kinds and (month := _find_month_of_list(parts, n)):
        kinds |= build_kinds(yearly(month, kinds["d"]))
    return TimePart(kinds, part.begin, part.end)


def is_weekday_beside(parts: Sequence[TimePart], n: int) -> bool:
    """Return whether part `n` is a weekday with an hour behind it, or beside the next weekday: `lun, mar, mer`."""
    day = parts[n].kinds.get("w")
    if day is None:
        return False
    sides = (parts[max(n - 2, 0) : n][::-1], parts[n + 1 : n + 3])
    near = [next((each.kinds for each in side if not each.kinds.keys() <= _JOINING), {}) for side in sides]
    is_in_list = any(abs(day - kinds.get("w", kinds.get("W", 9))) == 1 for kinds in near)
    return is_in_list or any(not _HOURS.isdisjoint(each.kinds) for each in parts[n + 1 : n + 2])


def _is_proven(parts: Sequence[TimePart], n: int) -> bool:
    """Return whether a date, or an hour or weekday beside it, proves that a homonym is a weekday; not `ce jeu 14h`."""
    after = [each.kinds for each in parts[n + 1 : n + 3]] or [{}]
    is_led = n > 0 and not _DETERMINERS.isdisjoint(parts[n - 1].kinds) and "," not in parts[n - 1].kinds
    is_date = "y" in after[0] or ("d" in after[0] and not _MONTHS.isdisjoint(after[-1]))
    return is_date or (not is_led and ("d" in after[0] or is_weekday_beside(parts, n)))


def _find_others(parts: Sequence[TimePart], n: int, back: int, follows: Mapping[str, Any]) -> str:
    """Return the kinds that part `n` has by itself, but not among its neighbours."""
    kinds, before = parts[n].kinds, parts[n - 1].kinds if n else {BREAK: 0}
    if "P" in kinds and follows.get("I") == "event" and not before:  # `game night on Sunday`
        return "P"
    if "P" in kinds:
        return "D" if n and not _PLAIN_TIMES.isdisjoint(parts[back].kinds) else ""
    if kinds.get("!") != "homonym":
        return ""
    return ("" if "d" in before else "m") + ("w" if "=" in before else "")  # `un jeu`


def _is_appointment(parts: Sequence[TimePart], back: int, n: int) -> bool:
    """Return whether an ordinal is the day of a plan: before an hour, or after a part `back` such as `to` or `due`."""
    follows = [each.kinds for each in parts[n + 1 : n + 3]] or [{BREAK: 0}]
    before = parts[back].kinds if back >= 0 else {}
    is_given = not before and back > 0 and parts[back - 1].kinds.get("_") == 0  # `they gave us the 28th`
    is_led = (is_given or not _GIVING.isdisjoint(before)) and not _ENDS_DAY.isdisjoint(follows[0])
    return is_led or "c" in follows[0] or ("A" in follows[0] and "c" in follows[-1])


def _is_behind_weekday(m: Moment, parts: Sequence[TimePart], n: int) -> bool:
    """Return whether a number is the day of a month behind its weekday: `Friday the 6th`, `vendredi 6`."""
    before = next((part.kinds for part in reversed(parts[:n]) if not part.kinds.keys() <= _PLACES), parts[n].kinds)
    weekday, after = before.get("W", before.get("w")), parts[n + 1].kinds if n + 1 < len(parts) else {}
    if weekday is None or "o" in parts[n].kinds:
        return weekday is not None
    near = fall_on(every_month(parts[n].kinds["d"]), weekday).occur(m.today)
    is_bare = m.lexicon.order == "dmy" and "!" not in before and _AFTER_HOUR.isdisjoint(after)
    return is_bare and any(abs(start.date() - m.today) <= NEAR for start, _ in near)


def _find_month_of_list(parts: Sequence[TimePart], n: int) -> int | None:
    """Return the month of a list of days: 5 for the `2` of `on the 2nd and the 8th of May`."""
    is_list = False
    for before, part in pairwise(parts[n:]):
        kinds = part.kinds
        if is_list and not _MONTHS.isdisjoint(kinds):
            return int(kinds.get("M") or kinds["m"])
        is_day = "d" in kinds and not _JOINING.isdisjoint(before.kinds)
        if not (is_day or kinds.keys() <= _IN_LIST):
            break
        is_list = is_list or is_day
    return None


def _apply(m: Moment, line: _Line, rules: Sequence[Rule]) -> Sequence[TimePart]:
    """Merge adjacent parts of a line wherever one of `rules` matches; return the same list if no rule does."""
    parts, begins = line.parts, set[str]().union(*[rule.begins for rule in rules])
    made, at, is_same = list[TimePart](), 0, True
    while at < len(parts):
        part, count = parts[at], 1
        if not begins.isdisjoint(part.kinds):
            fits = [rule for rule in rules if not rule.begins.isdisjoint(part.kinds)]
            part, count = _read_at(m, parts, fits, line.text, at, line.offsets[at])
            is_same = is_same and part is parts[at]
        made.append(part)
        at += count
    return parts if is_same else made


def _read_at(
    m: Moment, parts: Sequence[TimePart], rules: Iterable[Rule], text: str, at: int, offset: int
) -> tuple[TimePart, int]:
    """Merge the parts of the longest match at a position; return the part and how many it replaces (1: no match)."""
    found = [(match, rule) for rule in rules if (match := rule.pattern.match(text, offset))]
    for match, rule in sorted(found, key=lambda one: -one[0].end()):
        values: list[Any] = []
        for n, kinds in enumerate(rule.kinds, 1):
            if match[n] is None:
                values.append(None)
                continue
            named = parts[at + text.count("<", offset, match.start(n))].kinds
            values.append(next(named[kind] for kind in kinds if kind in named))
        if rule.is_exact and any(isinstance(value, float) for value in values):
            continue
        try:
            read = rule.read(m, tuple(values))
        except (OverflowError, ValueError):  # days outside the calendar
            read = None
        if read is None:
            continue
        count = match[0].count("<")
        meant = read if isinstance(read, dict) else {"%": read} if isinstance(read, Found) else build_kinds(read)
        if count == 1:
            meant = {**parts[at].kinds, **meant}
        return TimePart(meant, parts[at].begin, parts[at + count - 1].end), count
    return parts[at], 1
