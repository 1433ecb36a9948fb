"""`python -m sim`: the same as `ktms-sim`."""

from sim.cli import main

main()
