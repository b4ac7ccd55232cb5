"""`python -m nearspan`."""

from nearspan.cli import main

main()
