"""Traces as pictures: VCD for a viewer, SVG for a document."""
