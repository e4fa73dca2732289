"""Which file names are not followed: those that hold no page text. Documents and unknown ones are."""

from __future__ import annotations

_STOPPED = """
    7z a aac ace ai aif aiff apk appimage arj asf asx avi avif bin blend bmp bz2 cab cbr cbz cur dbf deb
    dmg dng dll drv dwg dxf ear eot eps exe fla flac flv gif gz gzip heic heif hqx ico
    img inc indd ipa iso jar jfif jp2 jpe jpeg jpg js jxl lha lib lz lz4 lzh lzma m2ts m3u m3u8 m4a m4b m4v
    map mid midi mjs mkv mov mp2 mp3 mp4 mpe mpeg mpg mpga msi msix msu nef o obj oga ogg ogm ogv opus otf
    parquet pbf pcap pdb pfb pfm pkg pls png ppm pptx ps psd pyc qt ra ram rar raw rm rpm s3m scr sfx
    shp sit sitx snap so sqlite stl svg svgz swf sys tar tbz tbz2 tga tgz tif tiff torrent ttc ttf txz vhd
    vmdk vob war wasm wav wave weba webm webmanifest webp whl wma wmf wmv woff woff2 xlsx xpi xz z zip zst css
    less sass scss
"""

STOPPED = frozenset(_STOPPED.split())
"""Extensions that are not fetched: images, sound, films, fonts, archives, programs, scripts, slides, sheets."""

_DOCUMENTS = """
    action adoc aspx asp asciidoc atom cfm cgi csv do doc docm docx dhtml epub htm html ipynb jhtml json jsonl
    jsp jspx log markdown md mdx mhtml ndjson odp ods odt org pdf php php3 php4 php5 phtml pl pps ppsx ppt
    pptm py rb rdf rss rst rtf shtm shtml tex text tsv txt xht xhtml xls xlsb xlsm xml yaml yml
"""

DOCUMENTS = frozenset(_DOCUMENTS.split())
"""Extensions known to hold text. They need no rule to be followed, since unknown extensions pass as well."""


def extension(path: str) -> str:
    """The extension of a URL path's last segment, lower-case, without the dot; empty where it has none.

    Parameters behind a semicolon are no part of it, and neither is what makes the whole name (`/.zip`).

    >>> extension("/a.d/Report.PDF;v=1")
    'pdf'
    """
    name = path.rpartition("/")[2]
    if ";" in name:
        name = name.partition(";")[0]
    stem, dot, ending = name.rpartition(".")
    return ending.lower() if dot and stem else ""


def stopped_extension(path: str) -> str | None:
    """The extension for which a URL with this path is not followed, or None where it may be.

    `/wiki/File:Map.png` is a page about a picture: names with a namespace are titles, not files.
    """
    if path.endswith((".html", "/")):  # nearly all there is, answered first
        return None
    ending = extension(path)
    if ending not in STOPPED:
        return None
    name = path.rpartition("/")[2]
    return None if ":" in name or "%3a" in name.lower() else ending
