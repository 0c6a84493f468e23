"""Read the tense of the times in a stored text: `On Friday I ate` is past, `on Friday I have the dentist` is not.

The verb nearest to the time in its clause decides; if the clause has no verb, a verb of the clauses around it does. The
verbs of each language are listed in `prompts/calendar` (`prompts/README.md`).
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, pairwise
from typing import Any, Literal, NamedTuple

from ...base.patterns import lazy_pattern
from ..words import read_lists
from .calendar import BREAK
from .grammar import is_weekday_beside
from .parts import TimePart

Tense = Literal["past", "present", "plan", "verbless", "unsure"]

_LISTS = ("no_tense", "present", "past", "have", "be", "be_forms", "have_forms", "subjects", "appointments")
_HELPERS = {"have": ("have_forms", "be_forms"), "be": ("be_forms",)}
"""Helping verbs, and the lists of the verbs with which they are a tense of the past."""
_WORD = lazy_pattern(r"[^\W\d_]+")
_TIMES, _ENDS_CLAUSE, _SMALL = frozenset("MWSUDEHPFN"), frozenset(",8]"), frozenset("xI5")
_DAYS, _DASH = frozenset("Ww"), frozenset("6x")
_MOVED_TO = frozenset("WwDEFMmUyZ")
"""Kinds of times to which something can be rescheduled."""
_CLOSE = 12
"""Maximum number of characters between `is` and `closed` in `is closed`, which is no past."""


class _Verb(NamedTuple):
    begin: int
    end: int
    kind: str
    """A tense, or a list of `_LISTS`."""
    is_regular: bool = False


_NO_VERB = _Verb(-1, -1, "")


@lru_cache(maxsize=64)
def _load(language: str) -> tuple[dict[str, str], list[tuple[str, re.Pattern[str]]]]:
    """Return, for a language, (name of the list of each verb, [(list name, pattern of its regular verbs)])."""
    lists, verbs, regular = read_lists(f"calendar/{language}"), dict[str, str](), []
    for name in _LISTS:
        forms = lists.get(name, "").split()
        verbs |= {form: name for form in forms if "*" not in form and form not in verbs}
        if shapes := [re.escape(form).replace(r"\*", r"\w{2,}") for form in forms if "*" in form]:
            regular.append((name, re.compile("|".join(shapes))))
    return verbs, regular


def read_tenses(parts: Sequence[TimePart], text: str, language: str) -> list[Tense | None]:
    """Return the tense of each part; None if the language has no verb list and the sentence no known verb."""
    tenses: list[Tense | None] = []
    is_listed = bool(_load(language)[0])
    ends = [*(each.begin for each in parts[1:]), len(text)]  # a part of words without a meaning ends with its first
    whole = [each if each.kinds else each._replace(end=end) for each, end in zip(parts, ends, strict=True)]
    for n in range(len(parts)):
        if is_weekday_beside(parts, n):  # `sat 3pm` is no verb
            whole[n] = whole[n]._replace(kinds={"W": 0})
    for _, group in groupby(whole, lambda each: each.kinds.keys() == {BREAK}):
        sentence = list(group)
        starts = [n for n in range(len(sentence)) if _opens(sentence, n)]
        clauses = [sentence[begin:end] for begin, end in pairwise([*starts, len(sentence)])]
        verbs = [_find_verbs(clause, text, language) for clause in clauses]
        if _is_moved(sentence) and any(verb.kind in ("past", "unsure") for verb in chain(*verbs)):
            tenses += ["plan"] * len(sentence)
            continue
        for n, clause in enumerate(clauses):
            if n and clause[0].kinds.get(",") == "," and all(each.kinds for each in clause) and not verbs[n]:
                tenses += [tenses[-1]] * len(clause)  # `on Friday, the 6th`
                continue
            near = [*reversed(list(chain(*verbs[:n]))), *chain(*verbs[n + 1 :])]
            is_report = n > 0 and _ENDS_CLAUSE.isdisjoint(clause[0].kinds)
            tenses += _read_clause(clause, verbs[n], near, is_listed=is_listed, is_report=is_report)
    return tenses


def _opens(sentence: Sequence[TimePart], n: int) -> bool:
    """Return whether part `n` begins a clause, such as what somebody told of a day: `she said Sunday is cancelled`."""
    day = n + (sentence[n].kinds.keys() == {"x"})
    tells = n > 0 and sentence[n - 1].kinds.get("V") == "tells"
    is_dash = sentence[n].kinds.keys() == _DASH and n + 1 < len(sentence) and not sentence[n + 1].kinds
    is_clause = n == 0 or not _ENDS_CLAUSE.isdisjoint(sentence[n].kinds) or is_dash
    return is_clause or (tells and day < len(sentence) and not _DAYS.isdisjoint(sentence[day].kinds))


def _read_clause(
    clause: Sequence[TimePart], verbs: Sequence[_Verb], near: Sequence[_Verb], *, is_listed: bool, is_report: bool
) -> list[Tense | None]:
    """Return the tense of each part of a clause with these verbs; `near` are those of other clauses, the best first.

    A clause such as `that he comes` or `and on Friday I see him` has its own verb, which is present if it is unlisted.
    A clause such as `dentist on Friday` after a comma has none: the past of another clause leaves it unsure.
    """
    tenses: list[Any] = []
    is_planned = any(verb.kind == "plan" for verb in (*verbs, *near))
    for _, group in groupby(clause, lambda each: bool(each.kinds)):
        run = list(group)
        begin, end = run[0].begin, run[-1].end
        opens = not tenses and (is_report or not _ENDS_CLAUSE.isdisjoint(run[0].kinds)) and len(run) < len(clause)
        kind = "verbless" if is_listed else None
        if verbs:
            kind = min(verbs, key=lambda verb: max(verb.begin - end, begin - verb.end)).kind
        elif near:
            kind = "present" if is_listed and (opens or "]" in clause[0].kinds) else near[0].kind
            is_apart = "," in clause[0].kinds and (tenses or clause[0].kinds[","] == ":")  # `I have the date: Monday`
            kind = "unsure" if kind == "past" and (is_report or is_apart) else kind
        tenses += ["plan" if kind == "present" and is_planned else kind] * len(run)
    return tenses


def _find_verbs(clause: Sequence[TimePart], text: str, language: str) -> list[_Verb]:
    listed, regular = _load(language)
    verbs: list[_Verb] = []
    for part in clause:
        found = []
        for match in _WORD.finditer(text, part.begin, part.end) if _TIMES.isdisjoint(part.kinds) else ():
            word = match[0].lower()
            exact = listed.get(word)
            kind = exact or next((name for name, pattern in regular if pattern.fullmatch(word)), None)
            found += [_Verb(match.start(), match.end(), kind, exact is None)] if kind else []
        if "+" in part.kinds or ("-" in part.kinds and not found):
            found = [_Verb(part.begin, part.end, "plan" if "+" in part.kinds else "past")]
        verbs += found
    # `got tickets on Friday`
    is_given = any(verb.kind == "appointments" for verb in verbs) and any(each.kinds.get("_") == 0 for each in clause)
    return [verb._replace(kind="unsure") if is_given and verb.kind == "past" else verb for verb in _tell_tenses(verbs)]


def _tell_tenses(verbs: Sequence[_Verb]) -> list[_Verb]:
    """Return the verbs of a clause that have a tense; a subject whose verb is in no list counts as the present."""
    kinds = {verb.kind for verb in verbs}
    forms = {form for helper in kinds & _HELPERS.keys() for form in _HELPERS[helper]}
    told: list[_Verb] = []
    for before, verb, after in zip([_NO_VERB, *verbs], verbs, [*verbs[1:], _NO_VERB], strict=False):
        kind = verb.kind
        if kind in _HELPERS:
            is_past = not kinds.isdisjoint(_HELPERS[kind]) or (kind == "have" and after.kind == "past")
            kind = "past" if is_past else "present"
        elif kind.endswith("_forms"):
            kind = "past" if kind in forms else ""
        elif verb.is_regular and before.kind == "be" and verb.begin - before.end < _CLOSE:
            kind = ""
        told += [verb._replace(kind=kind)] if kind not in ("", "no_tense", "subjects", "appointments") else []
    return told or [verb._replace(kind="present") for verb in verbs if verb.kind == "subjects"]


def _is_moved(sentence: Sequence[TimePart]) -> bool:
    """Return whether a sentence reschedules or prepares something for a time: `bought tickets for Friday`."""
    kinds = [each.kinds for each in sentence if not each.kinds or each.kinds.keys() - _SMALL]
    starts = [n for n, each in enumerate(kinds) if n == 0 or "-" in each]
    return any(_tells_move(kinds[begin:end]) for begin, end in pairwise([*starts, len(kinds)]))


def _tells_move(kinds: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a sentence has a verb such as `moved` and a time after `to`, or after `until` next to the verb."""
    moves = [n for n, each in enumerate(kinds) if each.get("_") == 0]
    for n, (to, time) in enumerate(pairwise(kinds)):
        is_to = ("4" in to and {n - 1, n + 2} & set(moves)) or ("4" not in to and ("6" in to or to.get("_") == "to"))
        after = kinds[n + 2] if n + 2 < len(kinds) else {}
        is_time = time if "L" not in time else after
        is_day = {"o", "d"} <= time.keys() and "X" not in after  # `to the 28th`, but not `to the 2nd floor`
        is_last = n + 2 == len(kinds) and BREAK not in time  # not `conseguí entradas el 20.`
        if is_day and (after or is_last) and (n in moves or (not to and n - 1 in moves)):  # `they gave us the 28th`
            return True
        if moves and is_to and (is_day or is_time.keys() & _MOVED_TO or ("N" in time and after.keys() & {"M", "m"})):
            return True
    return False
