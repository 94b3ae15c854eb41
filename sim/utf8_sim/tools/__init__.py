"""Find and run compilers, simulators and other programs, and manage their files."""
