"""Completion of commands and flags by the shell: its script to print, or to have in the shell's own files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any] | click.Command")

VARIABLE = "_PERSEID_COMPLETE"
"""What tells the program that a shell asks."""


def _flag(name: str, act: Callable[[click.Context], None], text: str) -> Callable[[Function], Function]:
    def callback(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
        if wanted:
            act(ctx)
            ctx.exit()

    return click.option(name, is_flag=True, is_eager=True, expose_value=False, callback=callback, help=text)


def _print(ctx: click.Context) -> None:
    click.echo(script(ctx.find_root().command, _shell()))


def _write(ctx: click.Context) -> None:
    shell = _shell()
    path, line = place(shell, Path.home())
    path.parent.mkdir(parents=True, exist_ok=True)
    if shell == "fish":
        path.write_text(script(ctx.find_root().command, shell), encoding="utf-8")
    elif not path.exists() or line not in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    click.echo(f"{shell} completes perseid's commands and flags from its next start on ({path})", err=True)


def place(shell: str, home: Path) -> tuple[Path, str]:
    """The file that the shell reads when it starts, and the line in it; fish reads the whole script from a file."""
    if shell == "fish":
        return home / ".config" / "fish" / "completions" / "perseid.fish", ""
    return home / f".{shell}rc", f'eval "$({VARIABLE}={shell}_source perseid)"'


def script(program: click.Command, shell: str) -> str:
    from click.shell_completion import get_completion_class  # noqa: PLC0415  start-up time

    found = get_completion_class(shell)
    assert found is not None, shell
    return found(program, {}, "perseid", VARIABLE).source()


def _shell() -> str:
    name = Path(os.environ.get("SHELL", "")).name
    if name not in {"bash", "zsh", "fish"}:
        raise click.UsageError(
            f"no completion for the shell {name or 'that SHELL does not name'}; use bash, zsh or fish"
        )
    return name


install = _flag("--install-completion", _write, "Install completion for the current shell.")
show = _flag("--show-completion", _print, "Show completion for the current shell, to copy it or customize it.")
