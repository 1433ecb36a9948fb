"""`python -m ktms.node`."""

from ktms.node.cli import main

if __name__ == "__main__":
    main()
