"""The golden model: what the hardware must say, and when."""
