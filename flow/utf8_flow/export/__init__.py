"""Export to other tools: Verilog, VHDL, FuseSoC."""
