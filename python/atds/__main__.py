"""``python -m atds`` is the ``atds`` command."""

import sys

from atds._command import main

sys.exit(main())
