// chykon/svart, test/gold/utf8decoder.sv
//
// Repeats a byte if the core asks for it.
// Options: --top svart --without last,kind,length,m_axis_tready

module svart (
  input clk,
  input rst,
  input [7:0] s_axis_tdata,
  input s_axis_tvalid,
  output s_axis_tready,
  output [31:0] m_axis_tdata,
  output m_axis_tvalid,
  output [7:0] m_axis_tuser
);
  wire [2:0] status;  // from 2: a character; above: errors, of which 4 asks for the byte again
  reg was_enabled;
  reg [7:0] last_byte;

  wire repeats = was_enabled && status == 4;
  wire enable = repeats || s_axis_tvalid;
  wire [7:0] octet = repeats ? last_byte : s_axis_tdata;

  always @(posedge clk) begin
    was_enabled <= enable && !rst;
    last_byte <= octet;
  end

  wire [20:0] codepoint;
  utf8decoder core (
    .clock(clk), .reset(rst), .enable(enable), .octet(octet),
    .status(status), .codepoint(codepoint)
  );

  assign s_axis_tready = !repeats;
  assign m_axis_tvalid = was_enabled && status >= 2;
  assign m_axis_tdata = codepoint;
  assign m_axis_tuser = status > 2;
endmodule
