"""Code blocks: which language their classes name, and which parts of them are no code."""

from __future__ import annotations

import re
from functools import lru_cache

GUTTER = (
    ".linenos, .lineno, .linenumber, .line-number, .line-numbers, .line-numbers-rows, .lineNumbers, .lnt, .ln, "
    ".hljs-ln-numbers, .hljs-ln-n, .rouge-gutter, .gutter, .blob-num, .crayon-nums, "
    ".react-syntax-highlighter-line-number, "
    "button, .copybtn, .copy-button, .btn-copy, .clipboard-copy, .copy-code-button, .headerlink"
)
"""Line numbers and copy buttons inside or beside code; never part of what is copied out of it."""

GUTTER_CLASSES = frozenset(re.findall(r"\.([\w-]+)", GUTTER))

_PREFIXED = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight-text|highlight|source|src|syntax|code|brush|hljs|prism)"
    r"[-:_]\s?([A-Za-z][\w+#.-]*)"
)
_PAIRED = re.compile(
    r"(?:^|\s)(?:brush:?\s*|(?:sourceCode|src|hljs|prettyprint|codehilite|highlight|geshi|code|listing)\s+)"
    r"([A-Za-z][\w+#-]*)"
)
_ALONE = re.compile(r"^([A-Za-z][\w+#-]*)$")

_KNOWN = frozenset(
    """abap ada apache applescript arduino asm assembly awk bash basic bat batch c c# c++ cc clojure cmake cmd
    cobol coffee coffeescript common-lisp console cpp crystal cs csharp css csv cuda cxx cypher cython d dart
    delphi diff docker dockerfile dos dotnet elixir elm elisp erl erlang f# fish fortran fsharp gherkin git glsl
    gn go golang gradle graphql groovy h haml handlebars haskell hbs hcl hlsl hpp hs html http ini ipython
    ipython3 java javascript jinja jl js json json5 jsonc jsx julia kotlin kt latex less lisp lua m make
    makefile markdown mathematica matlab md mermaid mysql nasm nginx nim nix objc objective-c objectivec ocaml
    octave pascal patch perl pgsql php pl plpgsql plsql postgres postgresql powershell prolog properties proto
    protobuf ps1 psql puppet py py3 pycon python python2 python3 pytb r racket raku rb re regex rest rs rst ruby
    rust sas sass scala scheme scss sh shell shell-session smali smalltalk solidity sparql sql sqlite ssh
    svelte swift systemverilog tcl terraform tex toml ts tsql tsx twig typescript vb vba vbnet verilog vhdl vim
    vue wasm wat webassembly wgsl x86asm xhtml xml xpath xquery yaml yml zig zsh""".split()  # noqa: SIM905  # read as words, not as a list
)
_ALIASES = {
    "python3": "python", "py3": "python", "ipython3": "python", "ipython": "python", "golang": "go",
    "c++": "cpp", "cxx": "cpp", "c#": "csharp", "shell-session": "console", "objective-c": "objectivec",
}  # fmt: skip
_NO_LANGUAGE = frozenset(
    """auto block body box code container content copy default example fold hidden highlight inline inner line
    lines listing literal mirror named none notranslate nowrap numbers off output outer plain plaintext pre
    prettyprint prettyprinted program rendered scroll snippet source table tab tabs text theme toolbar txt
    undefined unknown wrap wrapper""".split()  # noqa: SIM905  # as above
)


@lru_cache(maxsize=4096)
def language_of(*marks: str) -> str:
    """The language that one of several class lists names, nearest element first; "" where none does."""
    for mark in marks:
        if not mark:
            continue
        for pattern in (_PREFIXED, _PAIRED, _ALONE):
            for match in pattern.finditer(mark):
                name = match[1].lower().rstrip(".-")
                if pattern is _PREFIXED and name not in _NO_LANGUAGE and _reads_as_language(name, match[0]):
                    return _ALIASES.get(name, name)
                if name in _KNOWN:
                    return _ALIASES.get(name, name)
        for word in mark.split():
            if word.lower() in _KNOWN and len(word) > 1:
                name = word.lower()
                return _ALIASES.get(name, name)
    return ""


def _reads_as_language(name: str, whole: str) -> bool:
    """`language-x` names a language whatever x is; looser habits only name the ones we know."""
    return name in _KNOWN or whole.strip().startswith(("language-", "lang-", "brush:"))


def named_language(value: str | None) -> str:
    """The language an attribute such as data-lang names outright."""
    name = (value or "").strip().lower()
    if not name or name in _NO_LANGUAGE or not re.fullmatch(r"[a-z][\w+#.-]{0,30}", name):
        return ""
    return _ALIASES.get(name, name)
