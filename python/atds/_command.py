"""The ``atds`` command, which is the one of the Rust crate, run in this process."""

import signal
import sys

from atds import _native


def main() -> int:
    """Runs the command line of this process and returns its exit code."""
    # Python only notes Ctrl-C, and would act on it when the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run_command(["atds", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
