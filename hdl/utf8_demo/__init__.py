"""The demo for boards: a decoder or transcoder between a UART receiver and transmitter."""
