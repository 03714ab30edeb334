"""Starts the stdio proxy of Commonplace."""

import sys

from commonplace.__main__ import main

sys.exit(main(["stdio"]))
