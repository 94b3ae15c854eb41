"""The transcoder, and the encodings that it reads and writes."""
