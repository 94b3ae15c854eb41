"""Compilers, simulators and other programs: finding them, running them, and their files."""
