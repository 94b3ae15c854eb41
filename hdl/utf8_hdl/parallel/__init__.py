"""Components that decode or validate a beat of many bytes in a cycle."""
