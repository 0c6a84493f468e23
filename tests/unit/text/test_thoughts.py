"""Thoughts are not part of what a model said (R37): a think-block must reach no stored chat line."""

from __future__ import annotations

from time import process_time

import pytest

from core.text.replies import strip_thoughts


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("", ""),
        ("  Hello <b>there</b>. ", "Hello <b>there</b>."),
        ("a<think>b</think>c<thinking>d</thinking>e", "ace"),
        ("<think>I could write <reasoning> here</think>Yes.", "Yes."),
        ("<think/>Yes. <thinker>No.</thinker>", "Yes. <thinker>No.</thinker>"),
        ("<think>never closed", ""),
        ("So: <think>a <think>b</think> c</think>yes.", "So: yes."),
        ("It began before the reply.</think>\n\nHello.", "Hello."),
        ("<THINK>Loud.</THINK>Hello.", "Hello."),
        ("<thought>Gemini</thought>Hello.", "Hello."),
        ("<seed:think>Seed</seed:think>Hello.", "Hello."),
        ("◁think▷Kimi◁/think▷Hello.", "Hello."),
        ("[THINK]Magistral[/THINK]Hello.", "Hello."),
        ('<details type="reasoning" done="true">\n<summary>Thought</summary>\n> Hm.\n</details>\nHello.', "Hello."),
        ("<details><summary>Kept</summary></details>", "<details><summary>Kept</summary></details>"),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
         "Hello."),
        ("<|channel|>analysis<|message|>Hm.", ""),
        ("<|channel|>analysis<|message|>Hm.<|end|>Hello.", "Hello."),
        (("analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.look "
         "<|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>final<|message|>Hello."), "Hello."),
        ("analysisWe look.assistantcommentary to=functions.look json{}assistantfinalHello.", "Hello."),
        ("assistantanalysisWe look.", ""),
        ("analysis of tea", "analysis of tea"),
        ("<think>Hm.</thinking>Green tea.", "Green tea."),
        ("<think>Write </thinking> first.</think>Green tea.", "Green tea."),
        ("<mm:think>Hm.</mm:think>Hello.", "Hello."),
        ("So <mm:think>Hm.</mm:think>Hello.", "So Hello."),
        ("<|channel>thought\nHm.<channel|>Hello.", "Hello."),
        ("<|channel>thought\nHm.", ""),
        ("<|begin_of_thought|>Hm.<|end_of_thought|>\n\n<|begin_of_solution|>Hello.<|end_of_solution|>", "Hello."),
        ("<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>", "Hello."),
        ("<|START_THINKING|>Hm.", ""),
        ("<analysis>Hm.</analysis>\nHello.", "Hello."),
        ("<scratchpad>\nHm.\n</scratchpad>\n\n<plan>Say hello.</plan>Hello.", "Hello."),
        ("[REFLECTION]Hm.[/REFLECTION] Hello.", "Hello."),
        ("<|plan|>Hm.<|/plan|>Hello.", "Hello."),
        ("Hello.<|im_end|>", "Hello."),
    ],
)  # fmt: skip
def test_r37_only_what_was_said_is_left(reply: str, said: str) -> None:
    """Every way in which servers mark thoughts inside the text."""
    assert strip_thoughts(reply) == said


@pytest.mark.parametrize(
    "reply",
    [
        "<b>Hello</b> Ann.", "[i]Hello[/i] Ann.", "<answer>Green tea.</answer> Enjoy.", "<action>waves</action> Hello.",
        '<use_tool>{"name": "x"}</use_tool> Done.', '<notes>{"a": 1}</notes> Done.', "<notes>Only this.</notes>",
        "<notes>Never closed. Hello.", "[link](https://example.org)", '["tea", "coffee"]', "<|endoftext|>", "a < b",
        "Write `<think>` first, then the answer.", "Put <think> in front of it.",
    ],
)  # fmt: skip
def test_r37_marks_around_what_is_said_hide_nothing(reply: str) -> None:
    assert strip_thoughts(reply) == reply


@pytest.mark.parametrize("part", ["x<think/>", "<think>a</think>b", "<|a|> ", "<plan>a</plan>"])
def test_g22_many_marks_take_time_in_proportion_to_their_number(part: str) -> None:
    began = process_time()
    strip_thoughts(f"{part * 100_000}y")
    assert process_time() - began < 30  # the square of their number took minutes
