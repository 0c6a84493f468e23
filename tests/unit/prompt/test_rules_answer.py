"""Answers of models, in every form they come in."""

from __future__ import annotations

from typing import Any

import pytest

from core.prompt.rules_answer import parse_answer

LISTED = {"actions": {"message_web": {"text": ""}}}
SENT = '{"actions": [{"type": "message_web", "payload": {"text": "Hi"}}]}'


@pytest.mark.parametrize(
    ("said", "prompt", "text", "types", "problems"),
    [
        (f"```\n{SENT}\n```", LISTED, "Hi", ["message_web"], 0),
        ("<think>a cat?</think>She is called Tofu.", LISTED, "She is called Tofu.", [], 0),
        ('{"text": "Hi", "actions": []}', LISTED, "Hi", [], 0),
        ('{"actions": [{"type": "fly", "payload": {}}, {"payload": {}}, 7]}', LISTED, "", [], 3),
        ('{"actions": {"type": "message_web"}}', LISTED, "", [], 1),
        ('{"actions": [{"type": "message_web", "payload": 3}]}', LISTED, "", [], 1),
        ('{"broken', LISTED, "", [], 1),
        ("", LISTED, "", [], 1),
        ('{"actions":[{"type":"a","payload":{"text":"one"}},{"type":"b","payl', None, "one", ["a", "b"], 2),
        ('{"actions":[{"type":"rm","payload":{}}]}', {"actions": {}}, "", [], 1),
        ('{"actions":[{"type":"rm","payload":{}}]}', "a prompt as text", "", [], 1),
        ('{"type":"m","payload":{"text":"x"}}', None, "x", ["m"], 0),
        ('{"actions":[{"type":"m","text":"x"}]}', None, "x", ["m"], 0),
        ('{"text": 5}', None, "", [], 1),
        ('{"message": {"text": "hi"}}', None, "", [], 1),
        ('Use `{"text": "your text"}` in the file.', None, 'Use `{"text": "your text"}` in the file.', [], 0),
        ("{smiles} Hello Ann!", None, "{smiles} Hello Ann!", [], 0),
        ("{{char}} smiles at you.", None, "{{char}} smiles at you.", [], 0),
        ("[[OOC: hi]] Hello", None, "[[OOC: hi]] Hello", [], 0),
        ("[{type: 'm', payload: {text: 'x'}}]", None, "x", ["m"], 0),
        ('{{"type": "m", "payload": {"text": "x"}}}', None, "x", ["m"], 0),
        ("```python\nprint(1)\n```\nThat is how.", None, "```python\nprint(1)\n```\nThat is how.", [], 0),
        ("a" * 1_000_001, None, "", [], 1),
    ],
)
def test_p13_no_part_of_an_answer_is_lost(said: str, prompt: Any, text: str, types: list[str], problems: int) -> None:
    answer = parse_answer(said, prompt)
    assert (answer["text"], [each["type"] for each in answer["actions"]]) == (text, types)
    assert len(answer["problems"]) == problems
