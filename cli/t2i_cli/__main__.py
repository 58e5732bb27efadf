"""`python -m t2i_cli` is `t2i`."""

from . import main

main()
