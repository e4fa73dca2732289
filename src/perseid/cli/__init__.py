"""The command line: thin commands over the runtime. stdout is data, stderr is talk.

Built on click. To add a command: write a function under `@click.command()` in a module of its own, with
`@click.pass_context` last and the shared flags of `flags.py` (`@flags.out`, `@flags.json`) where they fit. It reads
settings by `context.loaded(ctx)`, does its work by `context.run(ctx, coroutine)` and ends with `ctx.exit(code)`. Then
name it in `COMMANDS` of `main.py`, which is the order of the help. What is heavy is imported inside the function:
`--help` loads nothing but click.
"""

from perseid.worker.garbage import collect_rarely

collect_rarely()  # first of all: what is loaded now stays, and isn't worth a search
