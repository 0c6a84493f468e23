"""Chats of WhatsApp as text: the times of many countries, lines that go on, words in place of media (R26)."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.transfer.files import Export
from core.transfer.formats import whatsapp
from core.transfer.shapes import Fault, Left, Line, Read, Reading


def _read(folder: Path, text: str, reading: Reading | None = None, name: str = "chat with Bob.txt") -> list[Read]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return list(whatsapp.read(Export(path).members, reading or Reading()))


def _lines(read: list[Read]) -> list[Line]:
    return [each for each in read if isinstance(each, Line)]


@pytest.mark.parametrize("head", [
    "13/04/21, 15:05 - ", "13.04.21, 15:05 - ", "13.04.2021 klo 15.05 - ", "13-04-2021 15:05 - ", "4/13/21, 3:05 PM - ",
    "13/4/2021, 3:05 p.\u00a0m. - ", "13/04/2021, 3:05 p.m. - ", "2021-04-13 15:05 - ", "2021/4/13 下午3:05 - ",
    "2021年4月13日 15:05 - ", "2021. 04. 13. 15:05 - ", "13/04/2564 15:05 - ", "١٣/٤/٢٠٢١، ٣:٠٥ م - ",
    "13/4/21, 3:05 अपराह्न - ", "13/4/21, 3:05 μ.μ. - ", "[13/04/21, 15:05:00] ", "[4/13/21, 3:05:00\u202fPM] ",
    "[2021/4/13 下午3:05:00] ", "[13/04/2021, 15:05:00] ~\u00a0", "\u200e[13/04/2021, 15:05:00] ",
    "\u200f[13\u200f/4\u200f/2021\u060c 15:05:00] ", "13/04/21, 15:05:00: ", "2021년 4월 13일 오후 3:05, ",
])  # fmt: skip
def test_r26_every_form_of_a_time_is_read(tmp_path: Path, head: str) -> None:
    (line,) = _lines(_read(tmp_path, f"{head}Ann{' ' * head.endswith('5, ')}: hi\n"))
    assert (line.at, line.text) == (datetime(2021, 4, 13, 15, 5, tzinfo=UTC), "hi")
    assert line.speaker is not None and line.speaker.name == "Ann"


def test_r26_day_and_month_are_found_from_the_whole_file(tmp_path: Path) -> None:
    for dates, days in (
        ("03/04/21, 05/04/21, 25/04/21,", "2021-04-03 2021-04-05 2021-04-25"),
        ("03/04/21, 04/05/21, 04/25/21,", "2021-03-04 2021-04-05 2021-04-25"),
        ("21/4/13 21/5/7", "2021-04-13 2021-05-07"),
        # by the order of the lines alone: with the day first, the second would lie before the first
        ("02/05/21, 03/04/21,", "2021-02-05 2021-03-04"),
    ):
        lines = _lines(_read(tmp_path, "".join(f"{date} 10:00 - Ann: a\n" for date in dates.split())))
        assert " ".join(f"{line.at:%Y-%m-%d}" for line in lines) == days


def test_r26_lines_that_go_on_lines_out_of_order_midnight_noon_and_zones(tmp_path: Path) -> None:
    text = "13/04/21, 10:00 - Ann: first\n\nsecond: with a colon\n12/x/21 no time\n13/04/21, 10:05 - Bob: b\n"
    text += "13/04/21, 10:02 - Ann: late\n"
    lines = _lines(_read(tmp_path, text))
    assert lines[0].text == "first\n\nsecond: with a colon\n12/x/21 no time"
    assert [line.at.minute for line in lines] == [0, 5, 2]
    text = "".join(f"4/13/21, {hour} - Ann: x\n" for hour in ("12:00 AM", "1:00 a.m.", "12:00 PM", "11:59 p.m."))
    assert [line.at.hour for line in _lines(_read(tmp_path, text))] == [0, 1, 12, 23]
    text = "13/07/21, 10:00 - Ann: x\n31/10/21, 02:55 - Ann: x\n31/10/21, 02:05 - Ann: x\n"  # clocks go back at 03:00
    lines = _lines(_read(tmp_path, text, Reading(ZoneInfo("Europe/Rome"))))
    assert ([line.at.hour for line in lines], lines[0].made_of) == ([8, 0, 1], "2021-07-13T10:00:00")


def test_r26_marks_of_direction_are_nobodys_words(tmp_path: Path) -> None:
    """U+200E stands before what the program wrote, U+202F and isolates inside times and names."""
    text = (
        "[4/13/21, 3:05:00\u202fPM] Club: \u200eBob added Ann\n"
        "[4/13/21, 3:06:00\u202fPM] \u202a+49\u00a0151\u00a07\u202c: hi @\u2068Bob\u2069\n"
        "[4/13/21, 3:07:00\u202fPM] Ann: done \u200e<This message was edited>\n"
    )
    added, phone, edited = _lines(_read(tmp_path, text))
    assert (added.is_service, added.speaker, added.text) == (True, None, "Bob added Ann")
    assert phone.speaker is not None and (phone.speaker.name, phone.text) == ("+49 151 7", "hi @Bob")
    assert (edited.text, edited.edited) == ("done", edited.at)


MEDIA = {
    "en": ("<Media omitted>", "\u200eimage omitted", "\u200esticker omitted", "IMG-1.jpg (file attached)"),
    "de": ("<Medien ausgeschlossen>", "\u200eBild weggelassen", "IMG-1.jpg (Datei angehängt)", "\u200e<Anhang: 1.jpg>"),
    "es": ("<Multimedia omitido>", "\u200eimagen omitida", "IMG-1.jpg (archivo adjunto)", "\u200e<adjunto: 1.jpg>"),
    "fr": ("<Médias omis>", "\u200eimage absente", "IMG-1.jpg (fichier joint)", "\u200e<pièce jointe : 1.jpg>"),
    "it": ("<Media omessi>", "\u200eimmagine omessa", "IMG-1.jpg (file allegato)", "\u200e<allegato: 1.jpg>"),
    "pt": ("<Mídia oculta>", "<Arquivo de mídia oculto>", "\u200eimagem ocultada", "IMG-1.jpg (arquivo anexado)"),
    "nl": ("<Media weggelaten>", "\u200eafbeelding weggelaten", "IMG-1.jpg (bestand bijgevoegd)"),
    "ru": ("<Без медиафайлов>", "<Медиафайл пропущен>", "IMG-1.jpg (файл добавлен)", "\u200e<прикреплено: 1.jpg>"),
    "tr": ("<Medya dahil edilmedi>", "\u200egörüntü dahil edilmedi", "IMG-1.jpg (dosya ekli)"),
    "pl": ("<pominięto multimedia>", "<Multimedia pominięte>", "IMG-1.jpg (plik załączony)"),
    "ja": ("<メディアは含まれていません>", "\u200e画像は含まれていません", "IMG-1.jpg (ファイル添付)"),
    "ar": ("<تم استبعاد الوسائط>", "IMG-1.jpg (ملف مرفق)"), "ko": ("<미디어 파일을 제외한 채팅>", "<미디어 제외>"),
    "zh": ("<媒体文件已省略>", "<省略多媒體檔案>", "\u200e图像已忽略"), "hi": ("<मीडिया के बिना>",),
    "id": ("<Media tidak disertakan>", "\u200egambar tidak disertakan"), "he": ("<המדיה לא נכללה>",),
}  # fmt: skip


@pytest.mark.parametrize("language", MEDIA)
def test_r26_words_in_place_of_media_are_nobodys(tmp_path: Path, language: str) -> None:
    """Nobody said `<Media omitted>`; a caption below the name of a file was said."""
    for word in MEDIA[language]:
        read = _read(tmp_path, f"13/04/21, 10:00 - Ann: {word}\n13/04/21, 10:01 - Ann: said\n")
        assert [line.text for line in _lines(read)] == ["said"], word
        left = [each.reason for each in read if isinstance(each, Left)]
        assert left == ["pictures, voice or files without a word"], word
    (line,) = _lines(_read(tmp_path, "13/04/21, 10:00 - Ann: IMG-1.jpg (file attached)\nthe harbour\n"))
    assert (line.text, line.metadata["attachments"]) == ("the harbour", [{"name": "IMG-1.jpg"}])


def test_r26_a_line_before_all_times_and_no_date_are_listed_and_a_chat_is_named_after_its_file(tmp_path: Path) -> None:
    lines = ["what is this", "13/04/21, 10:00 - Ann: a", "13/14/21, 10:00 - Ann: b", "14/04/21, 10:00 - Ann: c"]
    read = _read(tmp_path, "\n".join([*lines, "15/04/1403, 10:00 - Ann: of the Persian calendar"]))
    assert [line.text for line in _lines(read)] == ["a", "c"]
    places = [each.place for each in read if isinstance(each, Fault)]
    assert places == [f"chat with Bob.txt: line {number}" for number in (1, 3, 5)]
    text = "13/04/21, 10:00 - Ann: a\n"
    for name in ("WhatsApp Chat with Ann.txt", "WhatsApp Chat with Ann (1).txt", "WhatsApp Chat - Ann.txt", "Ann.txt",
                 "WhatsApp-Chat mit Ann.txt", "Chat de WhatsApp con Ann.txt"):  # fmt: skip
        assert _lines(_read(tmp_path, text, name=name))[0].room.id == "Ann", name
