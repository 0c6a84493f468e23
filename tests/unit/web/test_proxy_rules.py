"""What the proxy reads and changes without a server (R15, R37, F82)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from core.scope import Scope
from core.tokens.shapes import AccessToken
from core.web.errors import Refused
from core.web.proxy import answer, identity, messages, tasks
from core.web.proxy.answer import AnswerReader
from core.web.proxy.routes import has_dots


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def system(text: str) -> dict[str, str]:
    return {"role": "system", "content": text}


def test_r15_a_text_is_put_before_that_of_one_message_and_nothing_else_changes() -> None:
    """A provider's cache holds for the messages in front, and the request as it came is kept for a second try."""
    said: list[Any] = [user("hi"), {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Tea?"}]}]
    before = json.dumps(said)
    assert messages.put_before(said, 0, "so ") == [user("so hi"), said[1]]
    assert messages.put_before(said, 1, "so ")[1]["content"] == [{"type": "image"}, {"type": "text", "text": "so Tea?"}]
    assert json.dumps(said) == before


def event(delta: dict[str, Any], **more: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, **more}]}).encode() + b"\r\n\r\n"


def test_r15_an_answer_is_read_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    events = b"".join(event({"content": text}) for text in ("Grü", "ße, ", "🍰"))
    in_lines = event({"content": "!"}).replace(b"0, ", b"0,\r\ndata: ")
    whole = b": hello\r\n\r\n" + events + in_lines + b"data: [DONE]\r\n\r\n"
    for size in (1, 2, 3, 7, 1000):
        reader = AnswerReader()
        for start in range(0, len(whole), size):
            assert reader.is_complete is (b"[DONE]\r\n" in whole[:start])
            reader.feed(whole[start : start + size])
        assert reader.is_complete and reader.text() == "Grüße, 🍰!", size
    assert read(events) is None
    for shorter, text in ((0, "Grüße, 🍰!"), (1, None)):
        monkeypatch.setattr(answer, "MAX_BYTES", len(whole) - shorter)
        assert read(whole) == text


def read(content: bytes) -> str | None:
    reader = AnswerReader()
    reader.feed(content)
    return reader.text()


@pytest.mark.parametrize(("message", "said"), [
    ({"content": "Tea."}, "Tea."), ({"content": None, "refusal": "No tea."}, "No tea."),
    ({"content": None, "audio": {"id": "a1", "data": "AAAA", "transcript": "Tea."}}, "Tea."),
    ({"content": "Tea.", "audio": {"transcript": "Tea."}}, "Tea."),
    ({"content": [{"type": "text", "text": "Green "}, {"type": "text", "text": "tea."}]}, "Green tea."),
    ({"content": [{"type": "output_text", "text": "Tea."}, {"type": "refusal", "refusal": " No."}]}, "Tea. No."),
    ({"content": [{"type": "audio", "audio": {"transcript": "Tea."}}]}, "Tea."),
    ({"content": [{"type": "output_audio", "transcript": "Tea."}]}, "Tea."),
    ({"content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Tea."}]}, "Tea."),
    ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, "Tea."]}, "Tea."),
    ({"content": None, "reasoning_content": "Hm.", "tool_calls": [{"id": "t"}]}, ""),
])  # fmt: skip
def test_r37_words_are_read_wherever_they_stand(message: dict[str, Any], said: str) -> None:
    whole = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    assert read(whole) == read(event(message) + event({}, finish_reason="stop")) == said
    assert messages.read_lines([user("hi"), {"role": "assistant", **message}], "iris")[1]["content"] == said


SAID, STOP = event({"content": "Tea."}), event({}, finish_reason="stop")
USAGE = b'data: {"choices": [], "usage": {}}\n\n'
NO_ANSWERS = (
    b"", b"[]", b'{"error": {}}', b'{"choices": []}', b'{"choices": [7]}', b"\xff",
    b'{"error": {"message": "x"}, "choices": [{"message": {"content": "half"}, "finish_reason": "stop"}]}',
    b'{"choices": [{"message": {"content": "half"}, "finish_reason": "error"}]}',
    event({"content": "half"}) + b'data: {"error": {"message": "gone"}}\n\ndata: [DONE]\n\n',
    event({"content": "half"}) + b"event: error\ndata: gone\n\ndata: [DONE]\n\n",
    event({"content": "half"}) + event({}, finish_reason="error") + b"data: [DONE]\n\n",
    event({"content": "half"}) + event({}, error={"code": 502}, finish_reason="stop") + b"data: [DONE]\n\n",
)  # fmt: skip


@pytest.mark.parametrize(("content", "said"), [
    (SAID + STOP, "Tea."), (SAID + STOP + event({}, finish_reason=None), "Tea."), (SAID + STOP + USAGE, "Tea."),
    (event({"content": "Tea."}, finish_reason="length"), "Tea."), (SAID + event({}, finish_reason=None), None),
    (STOP.replace(b', "finish', b',\ndata: "finish') + b"data: [DONE]\n", ""),
    (b'data: {"choices": [{"delta":\ndata: {"content": "Tea."},\ndata: "finish_reason": "stop"}]}\n\n', "Tea."),
    ((SAID + STOP).replace(b"\r\n\r\n", b"\n"), "Tea."), (SAID + STOP.rstrip(), "Tea."),
    *((content, None) for content in NO_ANSWERS),
])  # fmt: skip
def test_r37_r39_an_answer_is_whole_when_its_finish_reason_came_and_no_error(content: bytes, said: str | None) -> None:
    assert read(content) == said


HOST = AccessToken(7, "host", "iris")


def scope_of(headers: dict[str, str], token: AccessToken = HOST, line: str = "", **body: Any) -> Scope:
    named = {name.lower().replace("_", "-"): value for name, value in headers.items()}
    return identity.read_identity(named, body, token, line, shared_memory=False)[0]


def key(headers: dict[str, str], token: AccessToken = HOST) -> str | None:
    return scope_of(headers, token).conversation


@pytest.mark.parametrize(("headers", "body", "conversation", "person"), [
    ({"X_User_Id": "ann", "X_Conversation_Id": "c1"}, {"user": "bob"}, "proxy/ann/c1", "proxy/ann"),
    ({"X_User_Id": "ann", "X_OpenWebUI_User_Id": "bob"}, {}, "proxy/ann", "proxy/ann"),
    ({"X_OpenWebUI_User_Id": "u", "X_OpenWebUI_Chat_Id": "c"}, {"user": "x"}, "openwebui/u/c", "openwebui/u"),
    ({}, {"metadata": {"user_id": "ann", "conversation_id": "c2"}, "user": "bob"}, "proxy/ann/c2", "proxy/ann"),
    ({}, {"user": "ann"}, "proxy/ann", "proxy/ann"),
    ({"X_Conversation_Id": "c3"}, {}, "proxy/%chat-c3", "proxy/%chat-c3"),
    ({"X_User_Id": "a/b%"}, {}, "proxy/a%2Fb%25", "proxy/a%2Fb%25"),
    ({"X_User_Id": "ann", "X_Interface": "discord"}, {}, "discord/ann", "discord/ann"),
])  # fmt: skip
def test_r16_whose_chat_it_is(headers: Any, body: Any, conversation: str, person: str) -> None:
    scope = scope_of(headers, **body)
    assert (scope.conversation, scope.participant) == (conversation, person)


def test_r16_a_token_of_one_participant_speaks_for_nobody_else() -> None:
    token = AccessToken(7, "scope", "iris", "web/ann")
    assert key({}, token) == "web/ann" and key({"X_Conversation_Id": "c1", "X_User_Id": "ann"}, token) == "web/ann/c1"
    for headers, body, said in (
        ({"X_User_Id": "bob"}, {}, "X-User-Id is 'bob'."), ({}, {"user": "bob"}, "user is 'bob'."),
        ({"X_OpenWebUI_User_Id": "u1"}, {}, "X-OpenWebUI-User-Id is 'u1'."),
        ({"X_Persona_Id": "vera"}, {}, "X-Persona-Id is 'vera'."),
    ):  # fmt: skip
        with pytest.raises(Refused, match=said) as caught:
            scope_of(headers, token, **body)
        assert (caught.value.status_code, caught.value.answer.fields) == (403, [said.split()[0]])


def test_r40_a_persona_that_a_token_is_not_for_is_refused() -> None:
    for given in ({"model": "llama3@mira"}, {"headers": {"X_Persona_Id": "mira"}}, {"line": "mira"}):
        asked: Any = {"headers": {}, **given}
        with pytest.raises(Refused, match="--personas 'mira'"):
            scope_of(**asked)
        assert scope_of(**asked, token=replace(HOST, personas="mira, vera")).persona == "mira"


def test_r16_a_name_in_a_header_is_utf8_or_refused() -> None:
    """Guessing another encoding would make one person two, or two one. Servers read headers as Latin-1."""
    for name in ("Jürgen", "アン"):
        assert key({"X_User_Id": name.encode().decode("latin-1")}) == f"proxy/{name}"
    with pytest.raises(Refused, match="UTF-8") as caught:
        key({"X_User_Id": "Jürgen"})
    assert (caught.value.status_code, caught.value.answer.fields) == (400, ["X-User-Id"])


def test_r40_a_system_message_with_nothing_but_the_persona_is_taken_out() -> None:
    line = "X-Persona-Id: mira"
    for empty in (system(line), {"role": "system", "content": [{"type": "text", "text": line}]}):
        for said in ([empty, user("hello")], [system("Be kind."), user("hello"), empty]):
            assert messages.split_persona_line(said) == ("mira", [each for each in said if each is not empty])


NAMES = ("dan", "room2", "55", "chat-55", "%chat-55", "%room-dan", "token-7", "%token-7", "a/b", "a%2Fb", "room:dan")


def test_f82_f83_no_key_of_one_kind_can_be_spelled_like_one_of_another() -> None:
    room = {"X_Conversation_Privacy": "public"}
    by_kind = {"direct": {key({"X_User_Id": name}) for name in NAMES},
               "named": {key({"X_User_Id": name, "X_Conversation_Id": chat}) for name in NAMES for chat in NAMES},
               "room": {key({"X_Conversation_Id": name, **room}) for name in NAMES},
               "no user": {key({"X_Conversation_Id": name}) for name in NAMES},
               "nobody": {key({}), key({}, replace(HOST, id=8))}}  # fmt: skip
    assert [len(keys) for keys in by_kind.values()] == [len(NAMES), len(NAMES) ** 2, len(NAMES), len(NAMES), 2]
    assert len(set().union(*by_kind.values())) == sum(len(keys) for keys in by_kind.values())
    assert key({"X_User_Id": "self"}) == "proxy/%self" != key({"X_User_Id": "%self"}), "a user called self"


@pytest.mark.parametrize(("name", "model", "persona"), [
    ("llama3@mira", "llama3", "mira"), ("@mira", "", "mira"), ("m@20240620", "m@20240620", ""),
    ("@cf/a/b", "@cf/a/b", ""), ("m@latest", "m@latest", ""), ("m@", "m@", ""), ("m", "m", ""),
])  # fmt: skip
def test_r40_a_model_name_names_the_persona_and_a_providers_own_sign_none(name: str, model: str, persona: str) -> None:
    assert identity.split_model({"model": name}) == (model, persona)


HISTORY = [user("I have a cat."), {"role": "assistant", "content": "What is its name?"}]

PERSON_ALONE = (
    "What's in this image?", "[Continue] I open the door",
    "Task: give me a title for my talk about chat history, 5 words or less, only the title.",
    "Create a concise, 3-5 word name for my bakery.", "Give me a JSON object with three cats. Only return JSON.",
)  # fmt: skip
PERSON_LATER = ("Summarize our conversation in 50 words or less.", "Write a title for our story, no quotes please.",
                "[Pause your roleplay] who are you really?", "[Pause your roleplay. Who are you really?]",
                "Pause your roleplay. Summarize the story so far.")  # fmt: skip
PERSON_BEHIND = (
    "[System note: write only Iris's next message in this roleplay, 200 words or less, without any names.]",
    "[Write the next reply only as Iris.]",
)
PERSON: list[list[Any]] = [
    *([user(text)] for text in PERSON_ALONE), *([*HISTORY, user(text)] for text in PERSON_LATER),
    *([*HISTORY, user("Tofu."), system(text)] for text in PERSON_BEHIND),
    [system("You are Iris. Answer with 50 words or less, nothing else. You love titles."),
     user("Ann: hello\nUser: hi there\nWhat do you think of this conversation?")],
]  # fmt: skip

GUIDE = "### Task:\nRespond to the user query using the context.\n\n### Guidelines:\n- Only return JSON if asked.\n"
FOUND = '<context>\n<source id="1">The title of the conversation: 5 words or less</source>\n</context>\n'
ATTACHED = (
    "The user has attached a file to the conversation:\n<file>\n<filename>a.txt</filename>\n</file>\n\nA semantic "
    "search was executed.\n\n<context>\nSummarize the chat in 5 words or less.\n</context>\n\nUse the context as your "
    "learned knowledge to better answer the user.\n\nIn your response, remember to follow these guidelines:\n- If you "
    "don't know the answer, simply say that you don't know.\n- Avoid mentioning the context.\n\n"
)
PIECES = "Use the following pieces of context to answer the question at the end.\n\nA title.\n\nQuestion: "
KEYS = "Where are my keys?"
TEMPLATES = {
    "open_webui": (f"{GUIDE}{FOUND}\nWhere are my keys?", KEYS),
    "open_webui_query": (f"{GUIDE}{FOUND}<user_query>\nWhere are my keys?\n</user_query>\n", KEYS),
    "libre_chat": (f"{ATTACHED}Where are my keys?", KEYS),
    "libre_chat_text": (f"Attached document(s):\n```md\n# a.txt\nA title.\n```\n{KEYS}", KEYS),
    "anything_llm": ("Context:\n[CONTEXT 0]:\nA title.\n[END CONTEXT 0]\n\nWhere are my keys?", KEYS),
    "question": (f"{PIECES}{KEYS}\nHelpful Answer:", KEYS),
    "note_before": ("[Author's note: they speak softly.]\n\nWhere are my keys?", KEYS),
    "note_behind": ("Where are my keys?\n\n[Write the next reply only as Iris.]", KEYS),
    "style": ("[Style: short, sad]\n\nWhere are my keys?\n\n[System note: no names.]", KEYS),
    "own_brackets": ("[OOC: slower please]\n\nI sit down.", "[OOC: slower please]\n\nI sit down."),
    "own_only": ("[Style: short]", "[Style: short]"),
    "own_context": ("I closed the tag with </context> and it broke.", "I closed the tag with </context> and it broke."),
    "own_task": ("### Task:\nWater the plants", "### Task:\nWater the plants"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEMPLATES)
def test_r40_the_persons_own_words_are_found_inside_a_template(name: str) -> None:
    """Documents that a front end found are no words of the person, and a question about them is no task."""
    text, own = TEMPLATES[name]
    assert messages.read_question(text) == own
    for said in ([user(text)], [*HISTORY, user(text)]):
        assert tasks.name_task({}, {"messages": said}) == ""
    assert tasks.name_task({}, {"messages": [system(f"{GUIDE}{FOUND}"), user("Where are my keys?")]}) == ""


def test_r40_a_note_in_a_message_of_its_own_is_not_the_persons() -> None:
    """An author's note at depth 0 with the role user is the last message of the list."""
    note = user("[Author's note: they speak softly.]")
    said = [*HISTORY, user(KEYS), note]
    assert messages.find_last_user(said) == 2 and messages.find_last_user([note]) == 0
    assert [each["content"] for each in messages.read_lines(said, "iris")][-1] == KEYS


# As Open WebUI, NextChat, Chatbox, LibreChat, SillyTavern, Cherry Studio, LobeChat and TypingMind ask.
TASKS_ALONE = (
    ("### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Output:\nJSON "
     'format: { "title": "..." }\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>'),
    ("Based on the chat history, give this conversation a name.\nKeep it short - 10 characters max, no quotes.\nJust "
     "provide the name, nothing else.\n\nHere's the conversation:\n\n```\nuser: hi\n```"),
    ("Summarize the conversation by integrating new lines into the current summary.\n\nNew lines:\nHuman: hi\nAI: "
     "hello\n\nNew summary:"),
)  # fmt: skip
TASKS_LATER = (
    ("Please generate a four to five word title summarizing our conversation without any lead-in, punctuation, "
     "quotation marks, periods, symbols, bold text, or additional text. Remove enclosing quotation marks."),
    "使用四到五个字直接返回这句话的简要主题，不要解释、不要标点、不要语气词、不要多余文本",
    ("Ignore previous instructions. Summarize the most important facts and events in the story so far. Limit the "
     "summary to 200 words or less. Your response should include nothing but the summary."),
    "[Pause your roleplay. Summarize the most important facts and events that have happened in the chat so far.]",
    ("What would be a short and relevant title for this chat? You must strictly answer with only the title, no other "
     "text is allowed."),
)  # fmt: skip
TASKS_BEHIND = (
    "Summarize the discussion briefly in 200 words or less to use as a prompt for future context.",
    "[Write your next reply from the point of view of Ann, using the chat history so far as a guideline.]",
)
TASKS: list[list[Any]] = [
    *([user(text)] for text in TASKS_ALONE), *([*HISTORY, user(text)] for text in TASKS_LATER),
    *([*HISTORY, user("Tofu."), system(text)] for text in TASKS_BEHIND),
    [system("Summarize the given session as a 10-word title, without any punctuation. Output only the title."),
     user('[{"role": "user", "content": "hi"}]')],
    [system("You sum up conversations. Generate a concise title of the conversation.\n- Output ONLY the title."),
     user("user: hi\nassistant: hello")],
]  # fmt: skip


@pytest.mark.parametrize(("messages", "name"), [(each, "") for each in PERSON] + [(each, "task") for each in TASKS])
def test_r37_what_a_person_says_is_a_turn_and_what_a_front_end_asks_is_none(messages: list[Any], name: str) -> None:
    """In doubt it is the person's: what is not stored is lost."""
    assert tasks.name_task({}, {"messages": messages}) == name


@pytest.mark.parametrize(("path", "leaves"), [
    ("/v1/models", False), ("/v1/models/a..b", False), ("/v1/files/%C3%A4", False), ("/v1/../admin", True),
    ("/v1/%2e%2e/admin", True), ("/v1/%2E./x", True), ("/v1/%252e%252e/x", True), ("/v1/a%2f..%2fb", True),
    ("/v1/..%5cx", True), ("/v1/./x", True), ("/v1/..;/x", True),
])  # fmt: skip
def test_r37_a_path_that_leaves_its_folder_is_known_however_it_is_encoded(path: str, leaves: bool) -> None:
    assert has_dots(path) is leaves
