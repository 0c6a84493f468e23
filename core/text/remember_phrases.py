"""Statements of people about themselves, standing wishes, and requests to remember. Pure.

Only a person's own words count: no question, quotation, condition, reported speech, fiction, list or pasted text. A
phrase in a file may have `*` for up to six words, `(a|b)` for alternatives, `(! a| b)` where none of these words may
follow, and a final `?` if it may be a question.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..base.patterns import lazy_pattern
from .extracts import sentences
from .folding import SPACELESS, SPACELESS_PATTERN, clean, fold, fold_letters, word_runs
from .words import read_lists

WANTED_GROUPS = ("explicit", "facts", "preferences", "feelings")
"""explicit: asks to remember. facts: about the person. preferences: likes and dislikes. feelings: how someone feels."""

ABOUT_PERSON = frozenset({"facts", "preferences"})

REFUSALS = "refusals"
"""Group of phrases that ask not to remember; it overrides all other groups."""

TOPICS = (
    "name", "address", "pronouns", "language", "units", "emoji", "length", "diet", "pregnancy",
    "form", "voice", "person", "tense",
)  # fmt: skip
"""Groups of words for topics of standing instructions: only the newest of a topic is valid, except for pregnancy."""
HEALTH = "health"
"""Group of phrases with which someone speaks of their health or diet."""
MEDICAL, DOUBTS = "medical", "doubts"
"""Groups of words for an illness, and for what is no fact about it: `if`, `soon`, `joking`."""
THAT_NAME = "that_name"
"""Group of phrases for a name that is withdrawn without being repeated, such as `that name`."""
THAT_WISH, THAT_RULE = "that_wish", "that_rule"
"""Groups of sentences that revoke a wish without naming it: the wish of the message before, and the newest wish."""

_RULED_OUT = ("ruled_out", "not_wishes", "not_endings", "not_facts", "fiction")
_BEGUN = ("explicit", "endings", "returns", "stops", "permits", THAT_WISH, THAT_RULE, "wishes")
_ENDING = ("stops", "endings")
_RULED_BY = {"wishes": "not_wishes", **dict.fromkeys(_BEGUN[1:-1], "not_endings")}
_PARTS = (
    "polite", "lasting", "single", "stays", "narrows", "joins", "ands", "instead", "leads", "openings", "asks", "vague",
    "synonyms", "adverbs",
)  # fmt: skip
GROUPS = (*WANTED_GROUPS, REFUSALS, *_BEGUN[1:], *_PARTS, *_RULED_OUT, *TOPICS, HEALTH, MEDICAL, DOUBTS, THAT_NAME)
"""wishes: begin a standing instruction; behind a phrase of `polite`, such as `could you`, only in a sentence with one
of `lasting` and none of `single`, which is about one answer. endings: revoke it. returns: revoke it; with a name,
ask for the name again. stops: revoke an instruction, unless it has a word of `stays`, which forbids something or is
about the person. permits: revoke one that forbids the same thing, or has another value of its topic. narrows:
precede the only part to revoke. joins: join a fact to a wish. ands: join a wish about health or diet to a sentence.
instead: precede a former name. leads: may precede all these phrases. openings: have no content. asks: begin a
question or a task. vague: words that name nothing to revoke. synonyms: each phrase has words for one thing. adverbs:
may be inside a fact. The others exclude a sentence: ruled_out from all statements, not_wishes from instructions,
not_endings from revoking, not_facts from facts and tastes. fiction excludes the sentence and all that follow.
"""

Phrases = Mapping[str, Sequence[str]]

MOST_CHARS = 4_000
"""Maximum number of characters of a text that is read; a longer text is ignored."""
SENTENCE_CHARS = 300
_MOST_SENTENCES = 40
_QUOTED_NAME_CHARS = (24, 6)
"""Maximum number of characters of a quoted name: in a script with spaces, and in a script without."""

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4`\u2032\uff07", "'"))
_NOT_TYPED = lazy_pattern(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE)
"""Code blocks and quoted lines."""
_QUOTED = lazy_pattern('["“„«»”‟「『]([^"“„«»”‟「」『』\n]{0,400})["”“»«‟」』]')
_QUOTES = str.maketrans(dict.fromkeys('"“„«»”‟「」『』'))
_BOLD = lazy_pattern(r"(\*\*|__)(?=\S)(.{1,300}?)(?<=\S)\1")
_ACTION = lazy_pattern(r"\*[^*\n]+\*")
"""Action in role play: `*smiles*`."""
_ACTED = lazy_pattern(r"(?:^|[.!?…\"”»)*])[ \t]*\*(?=[^\s*])[^*\n]+(?<![:\s])\*(?:[ \t]|$)", re.MULTILINE)
"""Action (not an emphasis) at the beginning of a sentence: the rest of the message is then said in character."""
_ASIDE = lazy_pattern(
    r"(?i)(?:^//\s*(?=\w)|(\(\(|[(\[（]\s*(?=ooc\b))|^(?=ooc(\s*[:：]|\s[–—-]\s)))\s*(?:ooc(?:\s*[:：–—-]\s*|\s+))?"
)
"""Opening of words out of character, in role play: `OOC: ...`, `(OOC: ...)`, `[OOC: ...]`, `((...))`, `// ...`."""
_ROUND = str.maketrans("[]", "()")
_LISTED = lazy_pattern(r"(?:[-*•·–]|\d{1,2}[.)])\s")
_CLAUSES = lazy_pattern("[,，、;；()（）–—¿¡]| - ")
_GAPS = lazy_pattern("[,，、]?\\s+|[，、]")
_COLON = lazy_pattern(r"[:：](?=\s|$)|：")
_ASKED = lazy_pattern(r"[?？][!?！？\s\"”»)]*$|(?:吗|嗎|呢|ですか|ますか|のか)[。.！!]*$")
_BEFORE = lazy_pattern(r"\A(?:<@[!&]?\w+>|@[\w.\-]+|\W)*")


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence in which a person speaks for themselves, with the groups whose phrases it contains."""

    text: str
    groups: frozenset[str]

    @property
    def topics(self) -> frozenset[str]:
        return self.groups.intersection(TOPICS)


def phrase_form(text: str) -> str:
    """Return the text in the form in which phrases are compared: folded, with plain spaces and apostrophes."""
    # Before folding: NFKC turns the acute accent, which many type as an apostrophe, into a space and a mark.
    return " ".join(fold_letters(clean(text).translate(_APOSTROPHES)).split())


@lru_cache(maxsize=8192)
def _pattern(phrase: str) -> tuple[bool, str]:
    """Return whether a phrase begins with a word, and the phrase as a regular expression."""
    form = phrase_form(phrase.rstrip("?")).replace(",", "").replace("、", " ")
    marks = re.sub(r"[^()]", "", form)
    while "()" in marks:
        marks = marks.replace("()", "")
    if marks:  # a lone parenthesis begins no alternatives; texts are compared without it
        form = phrase_form(re.sub("[()]", " ", form))
    letters = re.findall(r"\w", form)
    made = re.sub(r"\\([()|$ ])", r"\1", re.escape(form)).replace("(", "(?:").replace("|) ", "|) ?")
    made = re.sub(r"\(\?:!((?:[^()]|\([^()]*\))*)\)", r"(?!(?:\1)(?!\\w))", made)
    made = re.sub(r"(^| \??)\\\* ", r"\1(?<!\\w)(?:\\S+ ){0,6}?", made)
    made = re.sub(rf"\\\*(?=[^\W{SPACELESS}])", r"[\\w-]*", made)
    made = re.sub(rf"(?<=[^\W{SPACELESS}])\\\*", r"\\w*", made).replace(r"\*", ".{0,30}?")
    begins_word = bool(letters) and not form.startswith("*") and not SPACELESS_PATTERN.match(letters[0])
    ends = r"(?!\w)" if letters and not form.endswith("*") and not SPACELESS_PATTERN.match(letters[-1]) else ""
    return begins_word, f"(?:{made}){ends}"


@lru_cache(maxsize=1024)
def _compile(phrases: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern that finds one of the phrases anywhere, the longest first."""
    listed = sorted((each.removeprefix("* ") for each in phrases), key=len, reverse=True)
    patterns = [_pattern(each) for each in listed if each.strip("?,() ")]
    # Words share one lookbehind: one in each phrase would be tried at every character, six times as slow.
    words = "|".join(made for begins_word, made in patterns if begins_word)
    others = [made for begins_word, made in patterns if not begins_word]
    wanted = "|".join([*([rf"(?<!\w)(?:{words})"] if words else []), *others])
    return re.compile(wanted) if wanted else None


@lru_cache(maxsize=1024)
def _compile_kinds(phrases: tuple[str, ...]) -> dict[tuple[bool, bool], re.Pattern[str]]:
    """Return patterns by whether the phrases may be a question, and whether words may come before them."""
    parts: dict[tuple[bool, bool], list[str]] = {}
    for each in phrases:
        parts.setdefault((each.endswith("?"), each.startswith("* ")), []).append(each)
    return {kind: pattern for kind, part in parts.items() if (pattern := _compile(tuple(part)))}


def _holds(form: str, phrases: Sequence[str]) -> bool:
    return any(pattern.search(form) for pattern in _compile_kinds(tuple(phrases)).values())


def _follows(form: str, phrases: Sequence[str], leads: Sequence[str] = (), asked: bool | None = None) -> bool:
    """Return whether a text begins with one of the phrases, maybe after some leads."""
    lead, rests = _compile(tuple(leads)), [_BEFORE.sub("", form)]
    while lead and (led := lead.match(rests[-1])) and len(rests) <= 6:
        rests.append(_BEFORE.sub("", rests[-1][led.end() :]))
    return any(
        (found := pattern.search(rest) if is_late else pattern.match(rest)) and rest.count(" ", 0, found.start()) <= 6
        for (is_asked, is_late), pattern in _compile_kinds(tuple(phrases)).items()
        for rest in rests
        if asked in (None, is_asked)
    )


@lru_cache(maxsize=8)
def _line(name: str) -> re.Pattern[str]:
    """Return a pattern of `prompts/lines.txt` (`prompts/README.md`), for lines that are not the person's own words."""
    return re.compile(read_lists("lines")[name], re.IGNORECASE)


def _own_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines a person typed before any mail, file or copied chat, and whether each is said in character."""
    is_played = _ACTED.search(_BOLD.sub(r"\2", text)) is not None
    lines = _NOT_TYPED.sub("\n", clean(text)).splitlines()
    written = [line.strip() for line in lines if line.strip()]
    if len(written) > 2 and _line("greeting").match(written[0]) and any(map(_line("closing").match, written[2:])):
        return
    for line in lines:
        typed = _QUOTED.sub(_unquote, _ACTION.sub(" … ", _BOLD.sub(r"\2", line))).strip()
        # `//` may also begin a comment of a program, but hardly its last line
        aside = None if typed.startswith("//") and line.strip() != written[-1] else _ASIDE.search(typed)
        if aside:
            typed = typed[aside.start() :] if is_played else typed
            typed = _ASIDE.sub(r"\1", typed).translate(_ROUND)
        if any(_line(kind).match(typed) for kind in ("file", "mail", "chat")):
            return
        if typed and not _LISTED.match(typed):
            yield typed, is_played and aside is None


def _unquote(match: re.Match[str]) -> str:
    """Replace a quotation: a quoted name loses its quotation marks, a quoted sentence becomes an ellipsis."""
    inner = match.group(1)
    most = _QUOTED_NAME_CHARS[bool(SPACELESS_PATTERN.search(inner))]
    return inner if len(inner.split()) <= 2 and len(inner) <= most else " … "


def _own_sentences(text: str, known: Sequence[Phrases]) -> Iterator[tuple[str, str, bool]]:
    """Yield a person's own sentences, each with the part to search for phrases, and whether it is said in character."""
    count = 0
    for line, is_played in _own_lines(text):
        for sentence in sentences(line):
            count += 1
            form = _without_marks(sentence)
            if count > _MOST_SENTENCES or _holds_any(form, "fiction", known):
                return
            said, opens = _before_quotation(sentence, known)
            if said and len(sentence) <= SENTENCE_CHARS and not _holds_any(form, "ruled_out", known):
                if said != sentence:
                    yield sentence, said, is_played
                else:
                    yield from ((each, each, is_played) for each in _cut_joined(sentence, known))
            if opens:
                return


def _cut_joined(sentence: str, known: Sequence[Phrases]) -> list[str]:
    """Return the parts of a sentence that are statements of their own: `I love tea and I'm allergic to nuts`.

    Such a part is a wish about health or diet, or one on other topics than the wish before it: `call me Jo, no emojis`.
    `Remember that I love tea and I'm vegan` stays whole, as it asks for both.
    """
    is_conditional = _holds_any(_without_marks(sentence), "not_wishes", known)
    for phrases in known:
        for gap in _GAPS.finditer(sentence) if phrases.get("ands") else ():
            before, after = sentence[: gap.start()], sentence[gap.end() :]
            is_joined = _follows(phrase_form(after), phrases["ands"])
            if not (is_joined or gap.group()[0] in ",，、"):
                continue
            after = after.partition(" ")[2] if is_joined else after
            clause = [phrase_form(_CLAUSES.split(after)[0])]
            if not any(_begins(group, clause, clause, phrases) for group in ("wishes", "endings")):
                continue
            stated = _groups_of(before, phrases, ("wishes", "endings"))
            ended, ends = "endings" in stated, "wishes" in stated and _begins("endings", clause, clause, phrases)
            is_own = (is_joined or ended or ends) and _holds(clause[0], phrases.get(HEALTH, ()))
            is_own = is_own or (not is_conditional and (ended or _are_apart(before, after, phrases)))
            if is_own and "explicit" not in _groups_of(before, phrases, ("explicit",)):
                parts = _cut_joined(after, known)
                return [*parts, before] if ends and not ended else [before, *parts]  # `vegetarian, no longer vegan`
    return [sentence]


def _are_apart(before: str, after: str, phrases: Phrases) -> bool:
    """Return whether two parts of a sentence are wishes on different topics."""
    first, second = (_groups_of(each, phrases, ("wishes",)) for each in (before, after))
    topics = [groups.intersection(TOPICS) for groups in (first, second)]
    return "wishes" in first & second and all(topics) and topics[0].isdisjoint(topics[1])


def _without_marks(sentence: str) -> str:
    return phrase_form(_CLAUSES.sub(" ", sentence))


def _holds_any(form: str, group: str, known: Sequence[Phrases]) -> bool:
    return any(_holds(form, phrases.get(group, ())) for phrases in known)


def _before_quotation(sentence: str, known: Sequence[Phrases]) -> tuple[str, bool]:
    """Return a sentence, cut at a colon before a quotation, and whether the quotation is on the following lines."""
    if (colon := _COLON.search(sentence)) is None:
        return sentence, False
    before, after = sentence[: colon.start()], sentence[colon.end() :]
    last = phrase_form(_CLAUSES.split(before)[-1])
    for phrases in known:
        opening = (*phrases.get("explicit", ()), *phrases.get("leads", ()))
        if _follows(last, opening) or _follows(phrase_form(before), opening):
            return f"{before},{after}", False
    return before, not after.strip()


def may_state(text: str, groups: Sequence[str], known: Sequence[Phrases]) -> bool:
    """Return whether a text contains a phrase of these groups: a fast check, as nearly no message has a statement."""
    if len(text) > MOST_CHARS:
        return False
    form = _without_marks(_BOLD.sub(r"\2", text.translate(_QUOTES)))
    return any(_holds(form, phrases.get(group, ())) for group in groups for phrases in known)


def says_something(text: str, known: Sequence[Phrases]) -> bool:
    """Return whether a text has words beyond the opening of a request, such as `call me` or `please remember that`."""
    form = _without_marks(text)
    for phrases in known:
        opening = [each for group in ("leads", "explicit", "openings") for each in phrases.get(group, ())]
        pattern = _compile(tuple(each.rstrip("?") for each in opening if "*" not in each))
        if pattern is not None and not re.search(r"\w", pattern.sub(" ", form)):
            return False
    return True


def find_name(text: str, known: Sequence[Phrases]) -> list[str]:
    """Return the words of the name that a sentence gives, such as `jo` of `please call me Jo`; [] if it gives none."""
    for phrases in known:
        for clause in map(phrase_form, _CLAUSES.split(text)):
            heads = [clause.partition(f" {each} ")[0] for each in phrases.get("instead", ())]  # before a former name
            named = [each for each in (*heads, clause) if _holds(each, phrases.get("name", ()))]
            if named:
                names = [re.findall(r"\w+", _cut(each, phrases, ("name", "leads", "openings"))) for each in named]
                return min(filter(None, names), key=len, default=[])
    return []


def find_values(text: str, topics: Iterable[str], known: Sequence[Phrases]) -> set[str]:
    """Return the phrases on these topics that a text contains, such as `in english` or `longer answers`."""
    form, chosen = _without_marks(text), sorted(topics)
    patterns = [_compile(tuple(each for topic in chosen for each in phrases.get(topic, ()))) for phrases in known]
    return {found for pattern in patterns if pattern for found in pattern.findall(form)}


def holds_word(text: str, group: str, known: Sequence[Phrases]) -> bool:
    return _holds_any(_without_marks(text), group, known)


def cut_health(text: str, known: Sequence[Phrases], beside: Sequence[str] = ()) -> str | None:
    """Return a text without its health phrase: `to cats` of `I'm allergic to cats`; None if it has no such phrase.

    Words of phrases of the groups `beside` are left out, too.
    """
    form = _without_marks(text)
    held = [phrases for phrases in known if _holds(form, phrases.get(HEALTH, ()))]
    return _cut(form, held[0], (HEALTH, *beside)) if held else None


def are_synonyms(words: Sequence[str], known: Sequence[Phrases]) -> bool:
    """Return whether all words are synonyms, such as `swear` and `curse`; for a single word, whether it has any."""
    groups = [each for phrases in known for each in phrases.get("synonyms", ())]
    return any(all(_holds(phrase_form(word), (each,)) for word in words) for each in groups)


def is_repeated(text: str, said: str, known: Sequence[Phrases]) -> bool:
    """Return whether `said` tells to forget just what a text says: `forget that I'm vegan`, of `I'm vegan`."""
    for phrases in known:
        core, rest = (
            word_runs(_cut(_without_marks(each), phrases, groups))
            for each, groups in ((text, ("explicit", "leads")), (said, ("stops", "endings", "leads")))
        )
        # `vergiss, dass ich` has the `ich` of the wish
        if len(rest) > 1 and core[-len(rest) :] == rest and set(core).issubset(word_runs(_without_marks(said))):
            return True
    return False


def find_objects(text: str, salient: Sequence[str], known: Sequence[Phrases]) -> list[str]:
    """Return the salient words of a text without vague ones such as `talk`, and all words with synonyms."""
    listed = [word for word in word_runs(fold(text)) if are_synonyms((word,), known)]
    others = [word for word in salient if not holds_word(word, "vague", known)]
    return list(dict.fromkeys((*others, *listed))) or list(salient)


def _cut(form: str, phrases: Phrases, groups: Sequence[str]) -> str:
    """Remove from a text the words that belong to phrases of these groups."""
    frame = [each for group in groups for each in phrases.get(group, ())]
    pattern = _compile(tuple(piece for each in frame for piece in re.split(r"^\*| \* ", each)))
    return pattern.sub(" ", form) if pattern else form


def cut_fact(sentence: str, known: Sequence[Phrases]) -> str:
    """Return a wish without a fact joined to it: `My name is Jo` of `My name is Jo and I live in Rome`."""
    for phrases in known:
        for gap in _GAPS.finditer(sentence):
            before, after = sentence[: gap.start()], sentence[gap.end() :]
            if _follows(phrase_form(after), phrases.get("joins", ())):
                wish, fact = (_groups_of(each, phrases, _BEGUN) for each in (before, after))
                if "wishes" in wish - fact and not wish.isdisjoint(("facts", "name")):
                    return before
    return sentence


def read_statements(text: str | None, known: Sequence[Phrases]) -> list[Statement]:
    """Return a person's own statements, found by the phrases `known`.

    Of a text that asks not to remember, only the sentences that end something: `please forget that I'm vegan`.
    """
    found = _find_statements(text, known)
    return [each for each in found if THAT_NAME in each.groups or says_something(each.text, known)]


def _find_statements(text: str | None, known: Sequence[Phrases]) -> list[Statement]:
    if not text or len(text) > MOST_CHARS:
        return []
    is_refused = _holds_any(phrase_form(text), REFUSALS, known)
    found: list[Statement] = []
    before = ""
    for sentence, said, is_played in _own_sentences(text, known):
        whole = _without_marks(sentence)
        # `never call me Jo again` refuses a name
        kinds = ("not_wishes",) if _holds_any(whole, "name", known) else ("not_wishes", "not_endings")
        ruled_by = [each for each in kinds if _holds_any(whole, each, known)]
        begun = [each for each in _BEGUN[: 1 if is_played else None] if _RULED_BY.get(each) not in ruled_by]
        groups = frozenset[str]().union(*(_groups_of(said, phrases, begun) for phrases in known))
        if groups & ABOUT_PERSON and _holds_any(whole.rstrip(" .!…。！"), "not_facts", known):
            groups -= ABOUT_PERSON
        asked_for = sentence
        if "explicit" in groups and not says_something(sentence, known):  # `Remember that, please.`
            is_next = "".join((before + sentence).split()) in "".join(clean(text).split())
            asked_for = before if before and is_next else sentence
            if found and found[-1].text == asked_for:
                groups |= found.pop().groups
        if is_refused:  # of `please forget that I'm vegan` only what it ends counts
            ends = _holds_any(whole, REFUSALS, known) and not groups.isdisjoint(_ENDING)
            groups = groups & {*_ENDING, *TOPICS} if ends else frozenset()
        before = "" if _ASKED.search(sentence) else asked_for
        if groups:
            found.append(Statement(asked_for, groups))
    return found


def _groups_of(said: str, phrases: Phrases, begun: Sequence[str]) -> set[str]:
    """Return the groups whose phrases a sentence has. In a question, the clauses before the last are statements."""
    is_asked = _ASKED.search(said) is not None
    clauses = [form for clause in _CLAUSES.split(said) if (form := phrase_form(clause))]
    stated = clauses[:-1] if is_asked else clauses
    whole = " ".join(clauses)
    groups = {group for group in begun if _begins(group, clauses, stated, phrases)}
    if groups or not _follows(whole, phrases.get("asks", ()), phrases.get("leads", ())):
        rest = " ".join(stated)
        forms = {rest, " ".join(_cut(rest, phrases, ("adverbs",)).split())}
        groups |= {each for each in WANTED_GROUPS[1:] if any(_holds(form, phrases.get(each, ())) for form in forms)}
    if not groups.isdisjoint(_BEGUN[1:]):
        groups |= {topic for topic in TOPICS if _holds(whole, phrases.get(topic, ()))}
    if "returns" in groups:
        groups.add("wishes" if "wishes" in begun and "name" in groups else "endings")
    if "endings" in groups and _holds(whole, phrases.get(THAT_NAME, ())):
        groups |= {"name", THAT_NAME}
    is_wish_of_topic = "wishes" in groups and not groups.isdisjoint(TOPICS)  # it replaces others of its topic
    if is_wish_of_topic or "endings" in groups:
        return groups - {"stops", "permits"}
    return groups if groups.isdisjoint(("stops", "wishes")) else groups - {"permits"}


def _begins(group: str, clauses: Sequence[str], stated: Sequence[str], phrases: Phrases) -> bool:
    """Return whether a sentence, or one of its clauses, begins with a phrase of a group."""
    leads = tuple(phrases.get("leads", ()))
    if group != "explicit":
        leads += tuple(each.rstrip("?") for each in phrases.get("explicit", ()) if not each.startswith("*"))
    if group == "wishes" and _asks_lasting(clauses, phrases, leads):
        leads, stated = (*leads, *phrases["polite"]), clauses
    return any(
        _follows(" ".join(pieces[at:]), phrases.get(group, ()), leads, is_asked)
        for is_asked, pieces in ((False, stated), (True, clauses))
        for at in range(len(pieces))
    )


def _asks_lasting(clauses: Sequence[str], phrases: Phrases, leads: Sequence[str]) -> bool:
    """Return whether a sentence asks politely, and not for one answer: `could you please not use emojis?`"""
    polite, whole = phrases.get("polite", ()), " ".join(clauses)
    is_polite = any(_follows(" ".join(clauses[at:]), polite, leads) for at in range(len(clauses)))
    return is_polite and _holds(whole, phrases["lasting"]) and not _holds(whole, phrases["single"])


def is_request(text: str | None, known: Sequence[Phrases]) -> bool:
    return any("explicit" in each.groups for each in _find_statements(text, known))


def should_remember(user_text: str | None, response_text: str | None, known: Sequence[Phrases]) -> bool:
    """Return whether an exchange should be stored: one text has a statement of WANTED_GROUPS, and no text refuses."""
    if any(_holds_any(phrase_form(text or ""), REFUSALS, known) for text in (user_text, response_text)):
        return False
    return any(
        "explicit" in each.groups or (not each.groups.isdisjoint(WANTED_GROUPS) and says_something(each.text, known))
        for text in (user_text, response_text)
        for each in _find_statements(text, known)
    )
