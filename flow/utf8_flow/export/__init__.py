"""What leaves for other tools: Verilog, VHDL, FuseSoC, Vivado, Quartus."""
