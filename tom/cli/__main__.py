"""`python -m otherminds.tom.cli` does what `otherminds` does."""

from otherminds.tom.cli import main

main()
