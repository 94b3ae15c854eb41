// chykon/utf8decoder-verilog, src/utf8decoder.v
//
// The outputs come two cycles after the byte.
// Options: --top utf8decoder_verilog --without last,ready,kind,length

module utf8decoder_verilog (
  input clk,
  input rst,
  input [7:0] s_axis_tdata,
  input s_axis_tvalid,
  output [31:0] m_axis_tdata,
  output m_axis_tvalid,
  output [7:0] m_axis_tuser
);
  reg [1:0] stages;
  always @(posedge clk) stages <= {stages[0], s_axis_tvalid && !rst};

  wire [1:0] status;  // 2: a character, 3: an error
  wire [20:0] code_point;
  UTF8Decoder core (
    .clock(clk), .reset(rst), .allow(s_axis_tvalid), .finish(1'b0), .\byte (s_axis_tdata),
    .code_point(code_point), .status(status)
  );

  assign m_axis_tvalid = stages[1] && status >= 2;
  assign m_axis_tdata = code_point;
  assign m_axis_tuser = status == 3;
endmodule
