"""Export to other tools: Verilog, VHDL, FuseSoC, Vivado, Quartus."""
