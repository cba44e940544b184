"""What the image starts. Without arguments it is the action; with arguments it is the command line.

Python runs this file in isolated mode (-I): neither the working directory, which is the pull request's checkout, nor
PYTHON* variables, which the pull request's workflow may set, decide what `import gate` finds. That import happens in a
process that holds a token.
"""

import sys
from pathlib import Path

HERE = str(Path(__file__).resolve().parent)


def main():
    sys.path.insert(0, HERE)
    if len(sys.argv) > 1:
        from gate.cli import main as run
    else:
        from gate.action import main as run
    return run()


if __name__ == "__main__":
    sys.exit(main())
