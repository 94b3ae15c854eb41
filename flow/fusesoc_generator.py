"""The generator of `utf8-hdl.core`: FuseSoC runs it to create Verilog and its core file."""

import sys
from pathlib import Path

import yaml  # installed with FuseSoC, which runs this file

from utf8_flow.cli.session import main

USAGE = "usage: fusesoc_generator.py FILE, a YAML file with `parameters`, as FuseSoC writes it"

try:
    [name] = sys.argv[1:]
    job = yaml.safe_load(Path(name).read_text(encoding="utf-8"))
    parameters = dict(job["parameters"] or {})
except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError) as error:
    print(f"{USAGE} ({' '.join(str(error).split())})", file=sys.stderr)
    sys.exit(2)
options = [
    f"--{name}" if value is True else f"--{name}={value}"
    for name, value in parameters.items()
    if value is not False
]
sys.exit(main(["generate", "-o", "utf8_hdl.v", "--fusesoc", *options]))
