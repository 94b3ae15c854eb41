"""The generator of `utf8-hdl.core`: FuseSoC runs it to get Verilog and the core file for it."""

import sys
from pathlib import Path

import yaml  # FuseSoC, which calls, depends on it

from utf8_flow.cli.session import main

job = yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))
options = [
    f"--{name}" if value is True else f"--{name}={value}"
    for name, value in (job["parameters"] or {}).items()
    if value is not False
]
sys.exit(main(["generate", "-o", "utf8_hdl.v", "--fusesoc", *options]))
