"""The ``atds`` command of the Rust crate, run in this process."""

import signal
import sys

from atds import _native


def main() -> int:
    """Runs the command line of this process and returns its exit code."""
    # Python's own handler would act on Ctrl-C only after the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run_command(["atds", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
