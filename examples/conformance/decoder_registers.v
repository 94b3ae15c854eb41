// The compact decoder with registers for a processor, instead of streams.
//
// address  write                     read
//    0     a byte of a text          bit 0: a byte may be written; bit 1: a token can be read
//    1     the last byte of a text   the token's code point
//    2     remove the token          bits 7:0 as m_axis_tuser, bit 8: the last token of a text

module decoder_registers (
  input wire clk,
  input wire rst,
  input wire write,
  input wire [1:0] address,
  input wire [7:0] wdata,
  output reg [31:0] rdata
);
  wire ready, valid, last;
  wire [31:0] code_point;
  wire [7:0] user;

  utf8_compact_decoder decoder (
    .clk(clk), .rst(rst),
    .s_axis_tdata(wdata), .s_axis_tvalid(write && address < 2), .s_axis_tready(ready),
    .s_axis_tlast(address[0]),
    .m_axis_tdata(code_point), .m_axis_tvalid(valid), .m_axis_tready(write && address == 2),
    .m_axis_tlast(last), .m_axis_tuser(user)
  );

  always @*
    case (address)
      2'd0: rdata = {30'd0, valid, ready};
      2'd1: rdata = code_point;
      default: rdata = {23'd0, last, user};
    endcase
endmodule
