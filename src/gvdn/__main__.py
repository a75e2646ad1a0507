"""`python -m gvdn` is the command line."""

from gvdn.cli.app import main

main()
