"""python3 -m nnv12: see command.py."""
import sys

from .command import main

sys.exit(main())
