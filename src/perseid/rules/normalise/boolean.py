"""Truths as pages write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.rules.normalise.number import Unreadable
from perseid.rules.normalise.text import western

if TYPE_CHECKING:
    from collections.abc import Sequence

_TRUE = (
    "true yes y 1 on checked ✓ ✔ ☑ ja oui si sí sì sim tak ano da да так hai はい 是 有 예 네 نعم evet có vâng ใช่ हाँ "
    "kyllä jah igen áno ναι כן instock onlineonly instoreonly limitedavailability preorder"
)
_FALSE = (
    "false no n 0 off ✗ ✘ ☐ nein non não nie ne nu нет ні nee nej nei nem ei いいえ 否 无 無 没有 아니요 아니오 لا "
    "hayır không ไม่ नहीं όχι לא outofstock soldout discontinued backorder"
)
"""The last ones of each are schema.org's ItemAvailability."""
_YES = frozenset(_TRUE.split())
_NO = frozenset(_FALSE.split())


def read_boolean(text: str, yes: Sequence[str] = (), no: Sequence[str] = ()) -> bool:
    """Raises Unreadable for what is neither; `yes` and `no` are further words of the rule's."""
    word = western(text).casefold()
    if word in {western(each).casefold() for each in yes}:
        return True
    if word in {western(each).casefold() for each in no}:
        return False
    word = word.removeprefix("https://schema.org/").removeprefix("http://schema.org/").rstrip(".!")
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise Unreadable("it is neither yes nor no; name its words in `yes` and `no`")
