from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.content.decode import decode
from perseid.content.labels import encoding_of

if TYPE_CHECKING:
    from pathlib import Path

JAPANESE = "病名コード表 傷病名マスターは厚生労働省の委託により作成されたものです"
RUSSIAN = "Это простая русская страница для проверки определения кодировки"
GREEK = "Αυτή είναι μια απλή ελληνική σελίδα για τη δοκιμή της κωδικοποίησης"
SNIPPETS = {
    "shift_jis": JAPANESE,
    "euc-jp": JAPANESE,
    "iso-2022-jp": JAPANESE,
    "gb18030": "这是一个简单的中文网页，用于测试编码检测的准确性",
    "big5": "這是一個簡單的中文網頁，用於測試編碼檢測的準確性",
    "euc-kr": "이것은 인코딩 검출을 시험하기 위한 간단한 한국어 페이지입니다",
    "windows-1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "iso-8859-5": RUSSIAN,
    "ibm866": RUSSIAN,
    "iso-8859-2": "Zażółć gęślą jaźń. To jest prosta strona w języku polskim, która służy do testów",
    "windows-1250": "Příliš žluťoučký kůň úpěl ďábelské ódy. Toto je jednoduchá česká stránka",
    "windows-1252": "Un été à la plage — c’est déjà l’été, où l’on goûte à la fraîcheur",
    "windows-1253": GREEK,
    "iso-8859-7": GREEK,
    "windows-1254": "Bu basit bir Türkçe sayfadır; şğıİçöü kodlamasını sınamak için yazılmıştır",
    "windows-1255": "זהו דף פשוט בעברית לבדיקת זיהוי הקידוד של הטקסט",
    "windows-1256": "هذه صفحة عربية بسيطة لاختبار اكتشاف الترميز في النص",
    "windows-874": "นี่คือหน้าเว็บภาษาไทยง่ายๆ สำหรับทดสอบการตรวจจับการเข้ารหัส",
}
PYTHON = {"windows-874": "cp874", "ibm866": "cp866"}


def page(text: str, encoding: str, head: str = "") -> bytes:
    return f"<html><head>{head}<title>x</title></head><body><p>{text}</p></body></html>".encode(
        PYTHON.get(encoding, encoding)
    )


@pytest.mark.parametrize("name", ["E01", "E03", "E05"])
def test_cases(shared: Path, name: str) -> None:
    records = (json.loads(line) for line in (shared / "cases" / "cases.jsonl").read_text().splitlines())
    record = next(record for record in records if record["id"] == name)
    got = decode(bytes.fromhex(record["input"]["body_hex"]), content_type=record["input"]["content_type"])
    expected = record["expected"]
    assert (expected.get("title") or expected["text"]) in got.text
    assert got.encoding in expected["encoding"].split("|")


@pytest.mark.parametrize("encoding", SNIPPETS)
def test_undeclared_text_is_detected(encoding: str) -> None:
    text = SNIPPETS[encoding]
    assert text in decode(page(text, encoding)).text


@pytest.mark.parametrize("encoding", SNIPPETS)
def test_a_header_label_is_obeyed(encoding: str) -> None:
    got = decode(page(SNIPPETS[encoding], encoding), content_type=f"text/html; charset={encoding}")
    assert SNIPPETS[encoding] in got.text
    assert (got.encoding, got.confidence, got.warning) == (encoding, 1.0, None)


@pytest.mark.parametrize("encoding", sorted(set(SNIPPETS) - {"iso-2022-jp"}))
def test_a_lie_of_utf_8_is_seen_through_with_a_warning(encoding: str) -> None:
    got = decode(page(SNIPPETS[encoding], encoding), content_type="text/html; charset=utf-8")
    assert SNIPPETS[encoding] in got.text
    assert "declared as utf-8" in (got.warning or "")


@pytest.mark.parametrize("encoding", ["gbk", "iso-8859-1", "windows-1251", "shift_jis", "euc-kr", "utf-16le"])
def test_utf_8_under_another_label_is_seen_through_with_a_warning(encoding: str) -> None:
    got = decode(page(JAPANESE, "utf-8"), content_type=f"text/html; charset={encoding}")
    assert JAPANESE in got.text
    assert "bytes are utf-8" in (got.warning or "")


def test_the_header_beats_meta() -> None:
    body = page(RUSSIAN, "windows-1251", '<meta charset="koi8-r">')
    assert RUSSIAN in decode(body, content_type="text/html; charset=windows-1251").text


def test_the_page_beats_a_default_header_if_its_bytes_agree() -> None:
    body = page(JAPANESE * 3, "shift_jis", '<meta charset="shift_jis">')
    got = decode(body, content_type="text/html; charset=ISO-8859-1")
    assert JAPANESE in got.text
    assert got.warning


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="windows-1251">',
        "<meta charset=cp1251>",
        '<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=windows-1251">',
        "<meta content='text/html;charset=windows-1251' http-equiv='content-type'>",
        "<!-- " + "x" * 6000 + " --><meta charset=windows-1251>",
        "<!-- <meta charset=koi8-r> --><meta charset=windows-1251>",
        "<script>'<meta charset=koi8-r>'</script><meta charset=windows-1251>",
        "<meta name=x content='charset=koi8-r'><meta charset=windows-1251>",
        "<meta charset=nonsense><meta charset=windows-1251>",
    ],
)
def test_meta_is_found(head: str) -> None:
    got = decode(page("Да", "windows-1251", head))
    assert "<p>Да</p>" in got.text
    assert got.source == "meta"


def test_an_xml_declaration_names_the_encoding() -> None:
    got = decode('<?xml version="1.0" encoding="windows-1251"?><r>Да</r>'.encode("cp1251"))
    assert "<r>Да</r>" in got.text


def test_unknown_labels_are_ignored() -> None:
    assert "Да" in decode(page("Да", "utf-8"), content_type="text/html; charset=nonsense").text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_with_and_without_a_mark(encoding: str) -> None:
    text = "<p>plain naïve text that is long enough</p>"
    mark = "\ufeff".encode(encoding)
    assert decode(mark + text.encode(encoding)).text == text
    assert decode(text.encode(encoding)).text == text


def test_a_mark_beats_the_header() -> None:
    got = decode(b"\xef\xbb\xbf<p>na\xc3\xafve</p>", content_type="text/html; charset=koi8-r")
    assert got.text == "<p>naïve</p>"


def test_a_stray_byte_costs_one_character_only() -> None:
    got = decode(("é" * 50).encode() + b"\xff" + ("ü" * 50).encode(), content_type="text/html; charset=utf-8")
    assert got.text == "é" * 50 + "\ufffd" + "ü" * 50
    assert got.warning


def test_country_and_language_help_where_letters_are_ambiguous() -> None:
    text = "Šis yra paprastas lietuviškas puslapis, skirtas kodavimui tikrinti: ąčęėįšųūž"
    assert text in decode(page(text, "windows-1257"), tld="lt").text
    assert text in decode(f'<html lang="lt"><p>{text}'.encode("cp1257")).text


@pytest.mark.parametrize(
    ("label", "encoding"),
    [("GB2312", "gb18030"), ("gbk", "gb18030"), (" Shift_JIS ", "shift_jis"), ("iso-8859-1", "windows-1252"),
     ("latin1", "windows-1252"), ("ISO-8859-9", "windows-1254"), ("tis-620", "windows-874"), ("ks_c_5601-1987", "euc-kr"),
     ("x-sjis", "shift_jis"), ("unicode", "utf-16le"), ("hz-gb-2312", "replacement"), ("no-such", None)],
)  # fmt: skip
def test_labels(label: str, encoding: str | None) -> None:
    assert encoding_of(label) == encoding


@given(
    st.binary(max_size=300),
    st.sampled_from(
        [None, "text/html", "text/html; charset=utf-8", "x; charset=gbk", "x; charset=utf-16", "charset=hz-gb-2312"]
    ),
)
def test_any_bytes_give_clean_text(body: bytes, content_type: str | None) -> None:
    got = decode(body, content_type=content_type)
    got.text.encode()
    assert "\0" not in got.text
    assert 0 <= got.confidence <= 1
