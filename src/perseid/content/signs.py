"""What class, id and role words, and tags, say about the part of a page they stand on, as bits of one integer."""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = {
    "nav": r"nav(?!igator)|menu|crumb|pagin|pager|^toc$|sitemap|skip",
    "side": r"sidebar|^side$|rail$|widget|complementary|secondary|rightcol|leftcol",
    "foot": r"foot(?!ball|age|note)|colophon|bottom|copyright|contentinfo|imprint|impressum|legal|disclaim",
    "head": r"header|masthead|banner|topbar|^logo|branding|toolbar",
    "related": r"relat|recommend|suggest|similar|^more|^also$|popular|trending|latest|recent|mostread|teaser"
    r"|upnext|readnext|outbrain|taboola|crosssell|upsell|readmore|recirc|zergnet|plista|adjacent",
    "carousel": r"carousel|slider|swiper|slick|gallery|slideshow",
    "share": r"shar(?:e|ing)|social|follow|addthis|^sns|tweet|facebook|twitter|whatsapp|bookmark",
    "comment": r"comment|disqus|respond|repl(?:y|ies)|discuss|kommentar|talkback|livefyre|feedback",
    "ad": r"^ads?$|advert|sponsor|^dfp|werbung|anzeige|promo|commercial|^gpt$|adslot|reklam|publi[ck]",
    "join": r"newsletter|subscri|signup|login|signin|regist|paywall|donat|^cta|^abo$|member",
    "form": r"form$|search|filter|facet|^sort|suche|input|field",
    "popup": r"cookie|consent|gdpr|privacy|modal|popup|overlay|lightbox|dialog|drawer|offcanvas|toast"
    r"|tooltip|dropdown|flyout|alert|notice|notif",
    "author": r"byline|author|^bio|avatar|profile|user|contributor|writer",
    "meta": r"date|time(?!line)|^meta|info|^tags?$|taglist|categor|keyword|topic|label|posted|publish"
    r"|kicker|rubri|print|source|licen",
    "media": r"caption|credit|figure|^img|image|photo|media|video|player|audio|embed",
    "hidden": r"hidden|^hide|invisible|^sr$|sronly|screenreader|visually|noprint|collaps|assistive|offscreen",
    "body": r"article|content|^post|entry|story|text|body|main|blog|news|prose|markdown|wysiwyg|page"
    r"|artikel|beitrag|inhalt|contenu",
    "product": r"product|price|cart$|^buy|^sku|variant|spec(?:s$|ific)|detail|descri|shipping|wishlist",
    "review": r"review|rating|testimon|star",
    "thread": r"forum|thread|message|answer|question|quote|signature|^sig$",
    "doc": r"doc|^sect\d?|chapter|refentry|method|highlight|example|code|appendix|footnote|reference",
    "lead": r"^lead|intro|summary|standfirst|subtitle|excerpt|^dek|abstract|headline|title",
    "list": r"^list|item|card|grid|tile|^row|result|feed|stream|archive|loop|listing",
    "section": r"hero|feature|section|block|module|component|container|wrap|layout|^col$",
}
_TAGS = (
    "nav header footer aside form main article section figure table ul ol blockquote details noscript dl "
    "figcaption address fieldset td dialog"
)
_RULES = [(1 << j, re.compile(rule)) for j, rule in enumerate(_WORDS.values())]
_WORD = re.compile(r"[a-z]{2,40}\d?|(?<=-)a(?=-)")

BITS: dict[str, int] = {name: 1 << j for j, name in enumerate(_WORDS)} | {
    f"<{tag}>": 1 << (len(_WORDS) + j) for j, tag in enumerate(_TAGS.split())
}
TAG_BITS: dict[str, int] = {name[1:-1]: bit for name, bit in BITS.items() if name[0] == "<"}


@lru_cache(maxsize=20_000)
def _of_word(word: str) -> int:
    bits = 0
    for bit, rule in _RULES:
        if rule.search(word):
            bits |= bit
    return bits


@lru_cache(maxsize=10_000)
def of_marks(marks: str) -> int:
    """The bits of all words in `marks` (lower-case class, id and role); remembered, since sites repeat them."""
    bits = 0
    for word in _WORD.findall(marks[:300]):
        bits |= _of_word(word)
    return bits


_LABEL = (
    r"share|follow|tweet|copyright|©|all rights|related|read (?:more|next|also)|more (?:from|on|about|in|"
    r"stories|news)|advert|anzeige|werbung|sign (?:up|in)|log ?in|subscribe|newsletter|comments?\b|"
    r"\d+ comments?|leave a|post a comment|reply|cookie|tags?\b|categor|filed under|posted (?:in|by|on)|by |"
    r"von |par |source|print|e-?mail|facebook|twitter|you (?:may|might)|also on|most (?:read|popular|viewed)|"
    r"popular|trending|latest|recommended|previous|next|skip to|back to|home\b|menu|search|privacy|terms|"
    r"contact|about|imprint|impressum|datenschutz|mehr (?:zum|zu|aus|von|lesen)|weitere|lesen sie|"
    r"auch interessant|das könnte|teilen|drucken|kommentar|schlagw|themen|verwandte|ähnliche|empfohlen|"
    r"lire aussi|à lire|partager|voir aussi|articles? (?:similaires|liés)|sur le même|leer más|compartir|"
    r"relacionad|te puede|también|condividi|leggi anche|artikel|zum thema|jetzt|abonn|load more|show more|"
    r"view all|see (?:all|more|also)|image|photo|foto|bild|credit|getty|reuters|updated|published|"
    r"last (?:updated|modified)|permalink|edit\b|report|register|join|download|watch|play|loading"
)
_LABELS = re.compile(rf"\W*(?:{_LABEL})", re.IGNORECASE)


@lru_cache(maxsize=10_000)
def is_label(text: str) -> bool:
    """Whether a short text begins as the captions of side matter do: "Related", "Share this", "3 comments"."""
    return _LABELS.match(text) is not None
