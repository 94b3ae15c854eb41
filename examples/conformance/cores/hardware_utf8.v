// RebeccaRGB/hardware-utf8, src/utf8.v
//
// Resets the core before each character, writes bytes until it is ready or has an error, reads the
// four bytes of its code point, and writes a byte again if the core asks for it.
// Options: --top hardware_utf8_stream --without last,kind,length,m_axis_tready --throughput 0.1

module hardware_utf8_stream (
  input clk,
  input rst,
  input [7:0] s_axis_tdata,
  input s_axis_tvalid,
  output s_axis_tready,
  output [31:0] m_axis_tdata,
  output m_axis_tvalid,
  output [7:0] m_axis_tuser
);
  localparam RESET = 0, WRITE = 1, READ = 2, OUTPUT = 6;

  reg [2:0] phase;
  reg repeats;
  reg [7:0] last_byte;
  reg [23:0] code_point;

  wire [7:0] read_byte;
  wire ready, retry, error, surrogate;
  wire waits = phase == WRITE && !ready && !error;
  wire writes = waits && (repeats || s_axis_tvalid);
  wire reads = phase >= READ && phase < OUTPUT;
  wire [7:0] octet = repeats ? last_byte : s_axis_tdata;

  hardware_utf8 core (
    .clk(clk), .rst_in(phase != RESET), .rst_out(1'b1), .chk_range(1'b1), .cbe(1'b1),
    .din(octet), .bin(!writes), .cin(1'b1), .uin(1'b1),
    .dout(read_byte), .cout(!reads), .bout(1'b1), .uout(1'b1),
    .ready(ready), .retry(retry), .error(error), .surrogate(surrogate)
  );

  always @(posedge clk) begin
    code_point <= {code_point, read_byte};
    if (writes) begin
      last_byte <= octet;
      repeats <= 0;
    end
    if (phase == OUTPUT) begin
      phase <= RESET;
      repeats <= retry;
    end else if (phase != WRITE || ready || error)
      phase <= phase + 1;
    if (rst) begin
      phase <= RESET;
      repeats <= 0;
    end
  end

  assign s_axis_tready = waits && !repeats;
  assign m_axis_tvalid = phase == OUTPUT;
  assign m_axis_tdata = {code_point, read_byte};
  assign m_axis_tuser = error || surrogate;
endmodule
