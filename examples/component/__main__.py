"""The command ``utf8-hdl`` with one more component."""

import sys

import upper  # noqa: F401 - it registers the component
from utf8_flow.cli.session import main

if __name__ == "__main__":
    sys.exit(main())
