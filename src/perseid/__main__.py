"""`python -m perseid`: the command line, for where the `perseid` program is not on the path."""

from perseid.cli.main import main

main()
