// chykon/svart, test/gold/utf8encoder.sv
//
// The core has no clock: it turns a code point into up to four bytes. The adapter stores them and
// outputs one after the other. It outputs U+FFFD if the core refuses a code point.
// Options: --top svart_encoder --component encoder --surrogates accept --without m_axis_tready

module svart_encoder (
  input clk,
  input rst,
  input [31:0] s_axis_tdata,
  input s_axis_tlast,
  input s_axis_tvalid,
  output s_axis_tready,
  output [7:0] m_axis_tdata,
  output m_axis_tlast,
  output m_axis_tuser,
  output m_axis_tvalid
);
  reg [3:0] left;  // a bit for each byte that is left
  reg [31:0] bytes;
  reg is_last, is_error;

  wire status;
  wire [31:0] core_bytes;
  utf8encoder core (.codepoint(s_axis_tdata[20:0]), .status(status), .bytes(core_bytes));

  wire refused = status || s_axis_tdata[31:21] != 0;  // the core has 21 bits
  wire [31:0] encoded = refused ? 32'hBDBFEF : core_bytes;
  wire [7:0] lead = encoded[7:0];

  always @(posedge clk) begin
    if (s_axis_tready) begin
      bytes <= encoded;
      left <= {lead >= 8'hF0, lead >= 8'hE0, lead >= 8'hC0, 1'b1} & {4{s_axis_tvalid}};
      is_last <= s_axis_tlast;
      is_error <= refused;
    end else begin
      bytes <= bytes >> 8;
      left <= left >> 1;
    end
    if (rst) left <= 0;
  end

  assign s_axis_tready = left <= 1;
  assign m_axis_tvalid = left != 0;
  assign m_axis_tdata = bytes[7:0];
  assign m_axis_tlast = is_last && left == 1;
  assign m_axis_tuser = is_error;
endmodule
