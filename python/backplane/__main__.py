"""python -m backplane, and the script `backplane`: the command that lists devices, checks plugins, and begins new
ones."""

import os
import sys
from pathlib import Path


def program(name="backplane"):
    """Where the program lies: in the package, or beside it in the folder of a build. Raises FileNotFoundError."""
    here = Path(__file__).parent
    places = [here / "bin" / name, here.parent.parent / "bin" / name]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    raise FileNotFoundError(
        f"backplane: the command is neither at {places[0]} nor at {places[1]}; install the package again"
    )


def main():
    """Becomes the program, which sees the plugins that were installed by pip as well."""
    from . import _plugins

    try:
        found = program()
    except FileNotFoundError as error:
        sys.exit(str(error))
    sys.stdout.flush()
    os.execve(found, [str(found), *sys.argv[1:]], _plugins.environment())


if __name__ == "__main__":
    main()
