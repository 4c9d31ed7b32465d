"""`python -m claygrad`: the command line."""
import sys

from claygrad.cli import main

if __name__ == "__main__":
    sys.exit(main())
