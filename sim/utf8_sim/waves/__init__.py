"""Draw traces: VCD for a waveform viewer, SVG for a document."""
