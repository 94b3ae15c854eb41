"""Compilers, simulators and other programs: how they are found, run, and what they leave."""
