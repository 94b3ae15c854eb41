"""The golden model: the outputs of the hardware, and their timing."""
