"""Translates JavaScript's regular expressions to the syntax that both our engines understand.

One pass, no recursion. What JavaScript refuses is refused here, with its position, although the engines
might give it some other meaning (`(?>…)`, `a++`, `{e<=1}`).
"""

from __future__ import annotations

import re

from perseid.pattern import later

MAX_LENGTH = 4096

_QUANTIFIER = later(r"\{\d+(?:,\d*)?\}")
_GROUP_NAME = later(r"\?P?<([A-Za-z_$][\w$]*)>", re.ASCII)
_FLAGGED = later(r"\?(?:[ims]+(?:-[ims]+)?|-[ims]+):")
_NAMED_BACKREFERENCE = later(r"k<([A-Za-z_$][\w$]*)>", re.ASCII)
_CODE = later(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|c([A-Za-z])")
_PROPERTY = later(r"[pP]\{[A-Za-z_=]+\}")
_NUMBER = later(r"[1-9]\d?")


class PatternSyntaxError(ValueError):
    """Why a pattern is no regular expression, and the index at which that shows."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def translate(pattern: str) -> str:
    """`pattern` in the common syntax of `regex` and RE2; raises PatternSyntaxError.

    Letters outside ASCII are written as URLs hold them, percent-encoded (`/日本` finds /%E6%97%A5…).
    """
    if len(pattern) > MAX_LENGTH:
        raise PatternSyntaxError(f"it is longer than {MAX_LENGTH} characters", MAX_LENGTH)
    return _Translator(pattern).run()


class _Translator:
    def __init__(self, pattern: str) -> None:
        self._source = pattern
        self._at = 0
        self._out: list[str] = []
        self._open: list[int] = []
        self._repeatable = False
        """Whether a quantifier may follow."""

    def run(self) -> str:
        source = self._source
        if source.startswith("(?i)"):
            # Not JavaScript, but what people coming from other languages write, and harmless.
            self._emit("(?i)", 4, repeatable=False)
        while self._at < len(source):
            self._step(source[self._at])
        if self._open:
            raise PatternSyntaxError("this group is never closed", self._open[-1])
        return "".join(self._out)

    def _emit(self, text: str, consumed: int, *, repeatable: bool) -> None:
        self._out.append(text)
        self._at += consumed
        self._repeatable = repeatable

    def _step(self, char: str) -> None:
        match char:
            case "\\":
                self._escape()
            case "[":
                self._class()
            case "(":
                self._group()
            case ")":
                self._close()
            case "*" | "+" | "?" | "{":
                self._quantifier(char)
            case "^" | "$" | "|":
                self._emit(char, 1, repeatable=False)
            case "}" | "]" | "#" | " " | "&" | "~" | "-":
                self._emit(f"\\{char}", 1, repeatable=True)
            case _:
                self._emit(char if char.isascii() else f"(?:{_encoded(char)})", 1, repeatable=True)

    def _quantifier(self, text: str) -> None:
        if text == "{":
            bounds = _QUANTIFIER.match(self._source, self._at)
            if bounds is None:
                self._emit(r"\{", 1, repeatable=True)
                return
            text = bounds[0]
        if not self._repeatable:
            raise PatternSyntaxError(f"there is nothing for {text!r} to repeat", self._at)
        lazy = self._source.startswith("?", self._at + len(text))
        self._emit(text + "?" * lazy, len(text) + lazy, repeatable=False)

    def _close(self) -> None:
        if not self._open:
            raise PatternSyntaxError("this bracket closes no group", self._at)
        opened = self._open.pop()
        self._emit(")", 1, repeatable=not self._source.startswith(("(?<=", "(?<!"), opened))

    def _group(self) -> None:
        self._open.append(self._at)
        after = self._at + 1
        if not self._source.startswith("?", after):
            self._emit("(", 1, repeatable=False)
            return
        for start in ("?:", "?=", "?!", "?<=", "?<!"):
            if self._source.startswith(start, after):
                self._emit(f"({start}", 1 + len(start), repeatable=False)
                return
        if name := _GROUP_NAME.match(self._source, after):
            self._emit(f"(?P<{_name(name[1])}>", 1 + len(name[0]), repeatable=False)
        elif flags := _FLAGGED.match(self._source, after):
            self._emit(f"({flags[0]}", 1 + len(flags[0]), repeatable=False)
        else:
            raise PatternSyntaxError("JavaScript knows no such group", self._at)

    def _escape(self) -> None:
        after = self._at + 1
        if after >= len(self._source):
            raise PatternSyntaxError("the backslash at the end escapes nothing", self._at)
        char = self._source[after]
        if char in "bB":
            self._emit(f"\\{char}", 2, repeatable=False)
        elif name := _NAMED_BACKREFERENCE.match(self._source, after):
            # In JavaScript a group that took no part matches the empty string.
            self._emit(f"(?({_name(name[1])})(?P={_name(name[1])}))", 1 + len(name[0]), repeatable=True)
        elif number := _NUMBER.match(self._source, after):
            self._emit(f"(?({number[0]})\\{number[0]})", 1 + len(number[0]), repeatable=True)
        else:
            text, consumed = self._escaped(after)
            self._emit(text, 1 + consumed, repeatable=True)

    def _escaped(self, after: int) -> tuple[str, int]:
        """The translation of an escape that means one character, and how much of the source it takes."""
        char = self._source[after]
        if code := _CODE.match(self._source, after):
            point = ord(code[4]) % 32 if code[4] else int(code[1] or code[2] or code[3], 16)
            if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
                raise PatternSyntaxError("there is no such character", after - 1)
            return f"\\x{point:02x}" if point < 256 else chr(point), len(code[0])
        if found := _PROPERTY.match(self._source, after):
            return f"\\{found[0]}", len(found[0])
        if char == "0":
            return r"\x00", 1
        if char in "dDwWsSfnrtv":
            return f"\\{char}", 1
        return (char if char.isalnum() or char == "_" or not char.isascii() else f"\\{char}"), 1

    def _class(self) -> None:
        source, start = self._source, self._at
        negated = source.startswith("^", start + 1)
        at = start + 1 + negated
        parts: list[str] = []
        while at < len(source) and source[at] != "]":
            if source[at] != "\\":
                parts.append(f"\\{source[at]}" if source[at] in "[&|~" else source[at])
                at += 1
            elif at + 1 >= len(source):
                break
            elif source[at + 1] == "b":
                parts.append(r"\x08")
                at += 2
            else:
                text, consumed = self._escaped(at + 1)
                parts.append(text)
                at += 1 + consumed
        if at >= len(source):
            raise PatternSyntaxError("this character class is never closed", start)
        everything, nothing = r"[\s\S]", "(?!)"  # what JavaScript means by [^] and []
        text = f"[{'^' * negated}{''.join(parts)}]" if parts else everything if negated else nothing
        self._emit(text, at + 1 - start, repeatable=True)


def _name(name: str) -> str:
    """Names may hold a dollar sign in JavaScript only."""
    return name.replace("$", "__dollar")


def _encoded(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))
