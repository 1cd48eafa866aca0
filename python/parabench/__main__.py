"""``python -m parabench``: the program itself, where the folder of scripts is not in PATH."""

import os
import sys

from .binary import find_binary

if __name__ == "__main__":
    program = find_binary()
    os.execv(program, [program, *sys.argv[1:]])
