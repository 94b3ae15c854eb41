"""FPGA families and boards: area, clock frequency, bitstreams."""
