"""G24, P51: which token counter is used, that its name says so, that nothing is ever fetched; the size of a prompt."""

import hashlib
import json
import socket
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import sizes as counters
from core.text.sizes import ESTIMATE, RANK_FILES, estimate_tokens, resolve_counter, size, to_json

SAMPLES = [
    # Published counts: the larger of cl100k_base and o200k_base, and the smaller.
    (27, 24, "Hello, my name is GPT-4o. I'm a new type of language model, it's nice to meet you!"),
    (34, 29, "Hallo, mein Name is GPT-4o. Ich bin ein neues KI-Sprachmodell. Es ist schön, dich kennenzulernen."),
    (37, 26, "こんにちは、私の名前はGPT-4oです。私は新しいタイプの言語モデルです。初めまして！"),
    (34, 24, "你好，我的名字是GPT-4o。我是一种新型的语言模型，很高兴见到你!"),
    (45, 27, "안녕하세요, 제 이름은 GPT-4o입니다. 저는 새로운 유형의 언어 모델입니다, 만나서 반갑습니다!"),
    (39, 23, "Привет, меня зовут GPT-4o. Я — новая языковая модель, приятно познакомиться!"),
    (53, 26, "مرحبًا، اسمي جي بي تي-4o. أنا نوع جديد من نموذج اللغة، سررت بلقائك!"),
    (90, 31, "नमस्ते, मेरा नाम जीपीटी-4o है। मैं एक नए प्रकार का भाषा मॉडल हूँ। आपसे मिलकर अच्छा लगा!"),
    (3, 2, "👍"),
    (15, 15, "สวัสดีชาวโลก! สบายดีหรือ? 😄"),
    (9, 9, "What about URLs? https://www.google.com"),
]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    counters._encoding_for.cache_clear()


FILE = hashlib.sha1(b"https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken").hexdigest()


def test_g24_without_data_here_the_estimate_is_used_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (None, "openai/gpt-4o-mini", "llama-3.1-8b"):
        assert resolve_counter(None, model) == (estimate_tokens, ESTIMATE)
    (tmp_path / FILE).write_bytes(b"broken")
    assert resolve_counter(None, "gpt-4o")[1] == ESTIMATE and (tmp_path / FILE).read_bytes() == b"broken"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert resolve_counter(None, "gpt-4o")[1] == ESTIMATE


@pytest.fixture
def bytes_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Put a small file where tiktoken's would be, and an encoding of single bytes behind it."""
    import tiktoken

    ranks = {bytes([n]): n for n in range(256)}
    made = tiktoken.Encoding("o200k_base", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens={"<|end|>": 256})
    content = b"AA== 0\n"
    (tmp_path / FILE).write_bytes(content)
    files = {"o200k_base": ("o200k_base", hashlib.sha256(content).hexdigest())}
    monkeypatch.setattr(counters, "RANK_FILES", files)
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: {"o200k_base": made}[name])
    counters._encoding_for.cache_clear()


@pytest.mark.usefixtures("bytes_only")
def test_g24_the_models_own_counter_where_its_data_is_here() -> None:
    counter, name = resolve_counter(None, "gpt-4o")
    assert name == resolve_counter(None, "provider/gpt-4o-mini")[1] == "o200k_base"
    assert (counter("héllo"), counter("\ud800"), counter("a" * 250_001)) == (6, 3, 250_001)
    assert counter("<|end|>") == 7, "a text cannot be a special token"
    assert resolve_counter(None, "gpt-4")[1] == ESTIMATE, "another encoding, whose file is not here"
    assert resolve_counter(None, "no-such-model")[1] == ESTIMATE


@pytest.mark.usefixtures("bytes_only")
def test_g24_a_file_without_the_package_is_estimated_and_the_log_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever put the file there expects exact counts, and must learn what is missing."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert resolve_counter(None, "gpt-4o") == (estimate_tokens, ESTIMATE) and "prompt-engine[tokens]" in caplog.text


def test_g24_the_files_are_those_tiktoken_looks_for() -> None:
    import inspect

    from tiktoken_ext import openai_public  # type: ignore[import-untyped]

    for encoding, (stem, digest) in RANK_FILES.items():
        base = "o200k_base" if encoding == "o200k_harmony" else encoding
        source = inspect.getsource(openai_public.ENCODING_CONSTRUCTORS[base])
        assert f"encodings/{stem}.tiktoken" in source and digest in source


@pytest.mark.parametrize(("most", "least", "text"), SAMPLES, ids=[sample[2][:12] for sample in SAMPLES])
def test_g24_the_estimate_is_never_below_half_of_the_truth(most: int, least: int, text: str) -> None:
    assert most / 2 <= estimate_tokens(text) <= 2 * least and estimate_tokens(text * 50) >= 50 * most / 2


@given(st.text(), st.text())
def test_g24_the_estimate_does_not_fall_when_text_is_added(one: str, two: str) -> None:
    assert estimate_tokens(one) + estimate_tokens(two) + 2 >= estimate_tokens(one + " " + two) >= estimate_tokens(one)


def test_g24_an_injected_counter_is_named_after_itself_and_wins_over_the_model() -> None:
    def my_counter(text: str) -> int:
        return 1

    assert resolve_counter(my_counter, "gpt-4o") == (my_counter, "my_counter")
    assert resolve_counter(len) == (len, "len") and resolve_counter(partial(my_counter))[1] == "custom"


@given(st.text(st.characters(min_codepoint=0x10000)) | st.text(st.characters(min_codepoint=0xA00, max_codepoint=0xDFF)))
def test_g24_scripts_without_a_rate_of_their_own_count_half_their_bytes(text: str) -> None:
    assert 2 * estimate_tokens(text) >= len(text.encode("utf-8", "surrogatepass"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=25,
)


@given(values)
def test_p51_size_is_the_length_of_the_json(value: Any) -> None:
    assert size(value) == len(to_json(value)) == len(json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("media", ["attachments", "images", "image", "audio", "documents", "videos", "video"])
@pytest.mark.parametrize("key", ["data", "base64"])
def test_p51_base64_of_media_is_left_out(media: str, key: str) -> None:
    for holder in ({key: "A" * 1025}, [{"name": "x", "deep": {key: "A" * 1_000_000}}]):
        prompt = {"input": {"payload": {"text": "hi", media: holder}}}
        empty = json.loads(json.dumps(prompt).replace("A" * 1025, "").replace("A", ""))
        assert size(prompt) == len(to_json(empty)) < 120


def test_p51_other_texts_count_in_full() -> None:
    long = "A" * 2000
    assert size({"image": {"data": "A" * 1024}}) > 1024
    for value in ({"image": {"url": long}}, {"data": long}, {"memories": [{"data": long}]}, {"image": long},
                  {"image": {"data": [long]}}):  # fmt: skip
        assert size(value) > 2000


def test_p18_what_is_no_json_is_made_so_when_it_is_written() -> None:
    for bad in ({"x": float("nan")}, {"x": {1}}, {("a",): 1}, {"x": b""}):
        json.loads(to_json(bad))
        assert size(bad) == len(to_json(bad))
