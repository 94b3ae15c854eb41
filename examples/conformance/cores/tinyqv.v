// RebeccaRGB/ttsky25a-tinyQV, src/user_peripherals/hardware_utf8/hardware_utf8.v
//
// Does what software does: writes to the reset register before each character, writes a byte and
// reads the error state until it is ready or has an error, reads the character's properties and
// its four bytes, and writes a byte again if the core asks for it.
// Options: --top tinyqv --without last,kind,length,m_axis_tready --throughput 0.1

module tinyqv (
  input clk,
  input rst,
  input [7:0] s_axis_tdata,
  input s_axis_tvalid,
  output s_axis_tready,
  output [31:0] m_axis_tdata,
  output m_axis_tvalid,
  output [7:0] m_axis_tuser
);
  localparam RESET = 0, WRITE = 1, STATE = 2, PROPERTIES = 3, FIRST_READ = 4, OUTPUT = 8;

  reg [3:0] phase;
  reg repeats, is_error;
  reg [7:0] octet;
  reg [31:0] code_point;

  wire [7:0] read;
  wire writes = phase == WRITE && (repeats || s_axis_tvalid);
  wire [7:0] written = repeats ? octet : s_axis_tdata;
  wire is_over = read[0] || read[5];  // in the error state: READY or ERROR
  wire [3:0] address =
    phase == RESET || phase == STATE ? 4'd0 :
    phase == WRITE ? 4'd3 :
    phase == PROPERTIES ? 4'd1 : 4'd8 | (phase - FIRST_READ);

  tqvp_rebeccargb_hardware_utf8 core (
    .clk(clk), .rst_n(!rst), .ui_in(8'd0), .uo_out(), .address(address),
    .data_write(phase == RESET || writes), .data_in(phase == RESET ? 8'hFF : written),
    .data_out(read)
  );

  always @(posedge clk) begin
    code_point <= {code_point, read};
    if (writes) octet <= written;
    case (phase)
      WRITE: if (writes) phase <= STATE;
      STATE: phase <= is_over ? PROPERTIES : WRITE;
      OUTPUT: phase <= RESET;
      default: phase <= phase + 1;
    endcase
    if (phase == STATE) begin
      repeats <= read[1];  // RETRY
      is_error <= read[5];
    end
    if (phase == PROPERTIES) is_error <= is_error || read[2];  // SURROGATE
    if (rst) begin
      phase <= RESET;
      repeats <= 0;
    end
  end

  assign s_axis_tready = phase == WRITE && !repeats;
  assign m_axis_tvalid = phase == OUTPUT;
  assign m_axis_tdata = code_point;
  assign m_axis_tuser = is_error;
endmodule
