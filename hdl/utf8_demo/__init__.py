"""The demo for a board: bytes from a serial line in, lines of text about their tokens out."""
