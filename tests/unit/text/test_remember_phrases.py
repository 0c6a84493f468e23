"""What is worth remembering (rules T46, T47)."""

import re
from pathlib import Path

import pytest

from core.config import Settings
from core.memories.instructions import read_instructions
from core.memories.rules import asked_before
from core.memories.rules_instructions import replaces, takes_back
from core.templates.words import load_phrases, phrases_for
from core.text import remember_phrases
from core.text.remember_phrases import REFUSALS, Phrases, is_request, may_state, read_statements, should_remember

LANGUAGES = ("en", "de", "es", "fr", "it", "pt", "nl", "ru", "ja", "zh")
ENGLISH = load_phrases("en")
CORPUS = Path(__file__).parents[1] / "memories" / "corpus"


def known(text: str) -> tuple[Phrases, ...]:
    return phrases_for(text, Settings())


def cases(kind: str, language: str, sign: str) -> list[str]:
    lines = (CORPUS / f"{kind}_{language}.txt").read_text(encoding="utf-8").splitlines()
    return [line[2:] for line in lines if line.startswith(sign)]


def is_in(text: str, *groups: str) -> bool:
    if groups == ("explicit",):
        return is_request(text, known(text))
    return any(each.groups.intersection(groups) for each in read_statements(text, known(text)))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("kind", "groups"), [("requests", ("explicit",)), ("wishes", ("wishes", "endings"))])
def test_c12_people_are_understood_with_few_mistakes(kind: str, groups: tuple[str, ...], language: str) -> None:
    """What is missed is said again; what is invented stands in every prompt from then on.

    Every second line was not used to choose phrases; part of the English instructions had been seen.
    """
    right, wrong = ([is_in(text, *groups) for text in cases(kind, language, sign)] for sign in "+-")
    assert len(right) >= 60 and len(wrong) >= 60
    for half, least in ((0, 0.95), (1, 0.93)):
        taken = sum(right[half::2])
        assert taken / len(right[half::2]) >= 0.75 and taken / (taken + sum(wrong[half::2])) >= least
    assert sum(right) / (sum(right) + sum(wrong)) >= 0.95


@pytest.mark.parametrize("language", ["en", "de", "es", "fr"])
def test_l18_small_talk_with_i_is_no_fact(language: str) -> None:
    """What somebody does just now tells nobody who they are."""
    groups = ("facts", "preferences", "wishes")
    right, wrong = ([is_in(text, *groups) for text in cases("facts", language, sign)] for sign in "+-")
    assert sum(right) / len(right) >= 0.8 and sum(right) / (sum(right) + sum(wrong)) >= 0.95


@pytest.mark.parametrize(("text", "expected"), [
    ("Remember: the code is 4711", True), ("Keep this in mind, I start at noon", True),
    ("Merk dir bitte, dass ich freitags schwimme", True), ("For the future: my train leaves at nine", True),
    ("Note for the future: I park on level 3", True), ("Für die Zukunft: mein Zug fährt um neun", True),
    ("Pour l'avenir : mon train part à neuf heures", True), ("Para el futuro: mi tren sale a las nueve", True),
    ("На будущее: мой поезд уходит в девять", True), ("Do you remember that day?", False),
    ("He said please remember", False), ("> please remember that I like tea", False),
    ('"Please remember that I like tea", she wrote.', False), ("Bob: please remember that I like tea", False),
    ("```\nplease remember that I like tea\n```", False), ("*please remember that I like tea*", False),
    ("Translate into German: please remember that I like tea", False),
])  # fmt: skip
def test_t46_only_what_a_person_asks_for_is_a_request(text: str, expected: bool) -> None:
    assert is_request(text, known(text)) is expected


@pytest.mark.parametrize("text", [
    "# Agent rules: always answer in JSON", "From: Bob\nSubject: rules\n\nAlways answer in JSON",
    "Lena — Yesterday at 22:41\nNever use emojis please", "[2026-03-01, 09:12] Tom: call me Tommy",
    "Dear colleagues,\nfrom now on keep all receipts.\nKind regards,\nUta",
    "Hallo Tom,\nbitte antworte ab jetzt immer auf Englisch.\nViele Grüße\nUta",
    "Here is the file:\n\nalways answer in JSON\ncall me Jo", "Bob: call me Jo",
    "- always answer in JSON\n- call me Jo", 'He wrote: "Call me Jo, always."', "In my novel: call me Jo",
    "Should you always answer in French?", "units = metric\nAlways use metric units.",
    "export LANG=de\nAlways answer in German.", "SELECT * FROM x;\nAlways answer in German.",
    "system_prompt: |\n  You are vegan.\n  Always answer in German.", "README.md\n\nAlways use metric units.",
    "docker-compose.yml\nNever use emojis.", "class Config:\n  Never use emojis.",
    "Here is my config:\nAlways answer in German.",
])  # fmt: skip
def test_c12_pasted_quoted_and_imagined_text_is_no_wish(text: str) -> None:
    """A pasted file left its instructions in every later prompt."""
    assert not is_in(text, "wishes", "endings") and read_instructions(text, Settings()) == ()


@pytest.mark.parametrize(("text", "expected"), [
    ("OOC: please always answer in the past tense.", True), ("[OOC: from now on keep your replies short]", True),
    ("ooc : call me Robin outside the story", True), ("((OOC: remember that I am afraid of spiders))", True),
    ("I open the door. (Ooc: please always use metric units.)", True),
    ("( OOC please remember that my sister is called Mara )", True),
    ("*bows* [OOC: bitte antworte ab jetzt immer auf Deutsch]", True),
    ("(OOC\uff1akeep in mind that I have exams on Friday)", True), ("He said OOC: always answer in French.", False),
    ("(OOC: should you always answer in French?)", False), ('"OOC: call me Jo, please" is what she wrote.', False),
    ("She told me, OOC: remember that I like tea.", False), ("OOC talk is always welcome.", False),
    ("OOC - please always answer in the past tense.", True), ("*I bow.* ((please always use metric units))", True),
    ("*I bow.*\n// please always use metric units", True), ("// please always use metric units\n*I bow.*", False),
    ("OOC-style notes are always welcome.", False),
])  # fmt: skip
def test_c12_a_wish_out_of_character_counts_as_in_plain_words(text: str, expected: bool) -> None:
    assert is_in(text, "wishes", "explicit") is expected
    assert all("OOC" not in each.text.upper() for each in read_statements(text, known(text)))


@pytest.mark.parametrize(("user_text", "response_text", "expected"), [
    ("Please remember that my sister is called Ada", None, True), ("ＲＥＭＥＭＢＥＲ ＴＨＡＴ", None, True),
    ("I really love rainy days", None, True), ("I feel lonely today", None, True),
    ("ok", "That made me feel happy", True), ("Don't remember that, please", None, False),
    ("What time is it?", "Noon.", False), (None, None, False),
    ("Don\u2019t remember that, please", "I feel happy", False),
    ("I don\u00b4t remember that", "My name is Jonas", False),
])  # fmt: skip
def test_t46_t47_the_table(user_text: str | None, response_text: str | None, expected: bool) -> None:
    assert should_remember(user_text, response_text, [ENGLISH]) is expected


def test_t46_given_phrases_replace_their_group_languages_add_up_and_refusals_win_in_every_one() -> None:
    own = load_phrases("en", {"explicit": ["mark my words"]})
    assert should_remember("Mark my words, it rains", None, [own]) is True
    assert should_remember("remember that it rains", None, [own]) is False
    assert should_remember("My name is Jonas", None, [own]) is True
    assert should_remember("Mark my words", None, [ENGLISH]) is False
    for phrase in ("mark this)", "((mark this)", "mark) this (("):  # a parenthesis alone begins no alternatives
        own = load_phrases("en", {"explicit": [phrase, "(", "?"]})
        assert should_remember("Mark this: it rains", None, [own]) and not should_remember("It rains", None, [own])
    assert should_remember("Merk dir: ich wohne in Rom", None, [ENGLISH, load_phrases("DE"), load_phrases("xx")])
    assert load_phrases("xx") == load_phrases("../en") == dict.fromkeys(remember_phrases.GROUPS, ())
    for text in ("Merk dir das bitte nicht, ich heiße Jonas", "No lo guardes, me llamo Ada",
                 "私の名前はエイダ、でも覚えないで"):  # fmt: skip
        assert not should_remember(text, None, known(text)), text


def example(phrase: str) -> str:
    phrase = re.sub(r"\(! [^()]*\)", "", phrase)
    while "(" in phrase:
        phrase = re.sub(r"\(([^|()]*)[^()]*\)", r"\1", phrase)
    return phrase.replace("*", " ").replace("$", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_t46_every_shipped_phrase_does_what_its_group_says(language: str) -> None:
    """A refusal that stands inside a request (`forget that` in `don't forget that`) would turn it round."""
    phrases = load_phrases(language)
    for group in remember_phrases.WANTED_GROUPS:
        assert len(phrases[group]) >= 5
        for phrase in phrases[group]:
            found = {name for each in read_statements(f"{example(phrase)} x1", [phrases]) for name in each.groups}
            assert group in found or is_request(example(phrase), [phrases]), phrase
    assert len(phrases[REFUSALS]) >= 5
    for phrase in phrases[REFUSALS]:
        assert not should_remember(example(phrase), None, [phrases]), phrase


OPENINGS = {
    "en": ("call me ", "Call me!", "from now on", "From now on, please", "always", "please remember", "Remember that.",
           "My name is", "please always answer", "I prefer", "don't call me", "Hi, call me \U0001f98a", "I live in"),
    "de": ("nenn mich", "Ab jetzt", "immer", "Bitte merk dir", "Merk dir das!", "Ich heiße", "in Zukunft"),
    "es": ("llámame", "a partir de ahora", "siempre", "Recuerda", "por favor, recuerda que", "me llamo"),
    "fr": ("appelle-moi", "désormais", "toujours", "souviens-toi", "n'oublie pas", "je m'appelle"),
    "it": ("chiamami", "d'ora in poi", "sempre", "ricorda", "Per favore, ricordati", "mi chiamo", "in futuro"),
    "pt": ("me chame", "a partir de agora", "sempre", "lembre", "por favor, lembre-se", "meu nome é", "no futuro"),
    "nl": ("noem me", "vanaf nu", "altijd", "onthoud", "onthoud dit alsjeblieft", "ik heet", "voortaan"),
    "ru": ("зови меня", "с этого момента", "всегда", "запомни", "Пожалуйста, запомни это", "меня зовут", "впредь"),
    "ja": ("と呼んで", "今後", "いつも", "覚えて", "覚えておいてください", "私の名前は", "これから"),
    "zh": ("叫我", "请叫我", "从现在开始", "请记住", "记住", "我的名字", "以后"),
}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_c12_a_request_without_content_states_nothing_and_a_short_one_with_content_does(language: str) -> None:
    """`call me` with nothing behind it stood in every later prompt as an instruction."""
    phrases = load_phrases(language)
    for text in OPENINGS[language]:
        assert read_statements(text, [phrases]) == [], text
        assert read_instructions(text, Settings(languages=(language,))) == (), text
        assert not should_remember(text, None, [phrases]) or is_request(text, [phrases]), text
        assert asked_before(text, [phrases]) is None, text
    for text in ("call me Al", "Always in French, please", "I'm vegan", "No emojis", "nenn mich Jo", "叫我小明",
                 "Joと呼んで", "зови меня Аня"):  # fmt: skip
        assert is_in(text, "wishes") is ("Always" not in text)


def test_c24_content_beside_a_request_is_saved() -> None:
    for text in ("My plane goes at seven. Remember that!", "Please remember:\n- milk\n- eggs",
                 'Remember "the tide is at noon today".'):  # fmt: skip
        assert asked_before(text, known(text)) == (text, "phrase")
    assert is_request("Remember that!", known("Remember that!"))  # what `said` of a host may be


@pytest.mark.parametrize(("text", "expected"), [
    ("ich hab ne Nussallergie, vor allem Nüsse. merk dir das bitte", "ich hab ne Nussallergie, vor allem Nüsse."),
    ("Mein Zug fährt um neun. Merk dir das!", "Mein Zug fährt um neun."),
    ("My plane goes at seven. Remember that!", "My plane goes at seven."),
    ("I love tea. The tide is at noon.\nPlease remember.", "The tide is at noon."),
    ("Mi tren sale a las nueve. Recuerda eso", "Mi tren sale a las nueve."),
    ("Mon train part à neuf heures. N'oublie pas.", "Mon train part à neuf heures."),
    ("電車は九時に出ます。覚えておいて。", "電車は九時に出ます。"),
    ("What time is it? Remember that!", None), ("I love tea. He said the code is 4711. Remember that!", None),
    ("The train is late. Don't remember that.", None), ("Remember that!", None),
])  # fmt: skip
def test_l18_a_bare_request_to_remember_means_the_sentence_before_it(text: str, expected: str | None) -> None:
    asked = [each.text for each in read_statements(text, known(text)) if "explicit" in each.groups]
    assert asked == ([] if expected is None else [expected])


def test_t47_phrases_match_on_word_boundaries() -> None:
    def holds(text: str, *phrases: str) -> bool:
        return may_state(text, ("facts",), [{"facts": phrases}])

    for text, phrase in (("Note  that I moved", "note that"), ("footnote that; note\nthat", "note that"),
                         ("NOTE THAT", "Note  that"), ("don\u2019t forget", "don't forget"),
                         ("don't forget", "don\u2019t forget"), ("hey @memory!", "@memory")):  # fmt: skip
        assert holds(text, phrase), text
    for text, phrase in (("a notebook that", "note that"), ("footnote that", "note that"), ("cafe\u0301s", "cafe")):
        assert not holds(text, phrase), text
    assert not holds("anything", "", "  ")


def test_c12_what_takes_a_wish_back_is_understood() -> None:
    """Lines with `+` were used to choose phrases, those with `?` were not."""
    settings = Settings()
    missed: dict[str, list[str]] = {"+": [], "?": []}
    lines = (CORPUS / "endings.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        wish, ending = line.split(" | ")[1:]
        (stated,) = read_instructions(wish, settings)
        ends = [each for each in read_instructions(ending, settings) if each.ends]
        if not any(takes_back(each, wish, stated.topics) for each in ends):
            missed[line[0]].append(line)
        assert not any(takes_back(each, "I'm allergic to nuts", ()) for each in ends), line
    assert missed["+"] == []
    assert len(missed["?"]) <= 0.15 * sum(line[0] == "?" for line in lines), missed["?"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_c12_wishes_are_given_and_taken_back_in_spoken_words(language: str) -> None:
    """`+` begins a wish, `-` begins none, `1` states one alone, `0` nothing, as what characters say or others might.

    `old | new`: with `>` the old one ends or is replaced, with `=` it stays.
    """
    settings = Settings(languages=(language,))
    lines, wrong = (CORPUS / "spoken.txt").read_text(encoding="utf-8").splitlines(), []
    for sign, (code, *texts) in ((line[0], line[2:].split(" | ")) for line in lines):
        if code != language:
            continue
        given = read_instructions(texts[-1], settings)
        if sign in "01":
            is_right = [each.begins for each in given] == [True] * int(sign)
        elif sign in "+-":
            is_right = any(each.begins for each in given) is (sign == "+")
        else:
            (old,) = read_instructions(texts[0], settings)
            is_right = any(
                (each.ends and takes_back(each, old.text, old.topics))
                or (sign == ">" and each.begins and replaces(each.held_topics, old.topics))
                for each in given
            ) is (sign == ">")
        if not is_right:
            wrong.append(" | ".join((sign, *texts)))
    assert sum(line[2:].startswith(f"{language} ") and line[0] in "-=" for line in lines) >= 15 and not wrong


def test_c12_a_ban_for_a_pregnancy_replaces_no_other() -> None:
    """Only the end of the pregnancy ends them: the first food avoided must not be forgotten for the second."""
    first, second = (
        read_instructions(f"I'm pregnant, so no {food}, please.", Settings())[0] for food in ("raw fish", "alcohol")
    )
    (ending,) = read_instructions("I had the baby!", Settings())
    assert not replaces(second.held_topics, first.topics)
    assert all(takes_back(ending, each.text, each.topics) for each in (first, second))
    assert not takes_back(ending, "I'm allergic to nuts", ())


@pytest.mark.parametrize(("last", "newest"), [
    ("never mind", "Forget my last instruction"), ("Vergiss das bitte", "Streich diese Regel bitte"),
    ("Olvídalo", "Olvida esa regla"), ("Laisse tomber", "Oublie cette règle"),
    ("Lascia perdere", "Dimentica quella regola"), ("Esquece isso", "Esquece essa regra"),
    ("Laat maar zitten", "Vergeet die regel maar"), ("Забудь об этом", "Забудь это правило"),
    ("さっきのはなしで", "そのルールはもうなしで"), ("当我没说", "取消那条规则"),
])  # fmt: skip
def test_c12_what_is_meant_without_a_word_for_it_is_understood(last: str, newest: str) -> None:
    for text, means in ((last, (True, False)), (newest, (False, True))):
        read = read_instructions(text, Settings())
        assert [(each.ends, each.means_last_wish, each.means_newest) for each in read] == [(True, *means)], text


def test_c12_a_form_of_address_is_no_name_and_a_character_has_none() -> None:
    (given,) = read_instructions("*I bow.* My name is Vex. (OOC: please always answer in German)", Settings())
    assert "Vex" not in given.text and not read_instructions("Don't call me girl.\n*She leaves.*", Settings())
    assert not read_instructions("u should call me when ur home", Settings())
    # `You may say du` would replace `call me Kim`
    for text, is_name in (("du kannst ruhig Du zu mir sagen", False), ("du kannst Kim zu mir sagen", True)):
        (read,) = read_instructions(text, Settings())
        assert read.begins and ("name" in read.topics) is is_name
