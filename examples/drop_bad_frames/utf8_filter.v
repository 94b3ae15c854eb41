// Passes texts that are well-formed UTF-8, and drops all others whole.
//
// utf8_validator passes beats on, and reports with the last beat of a text whether the text is
// well-formed: bit 0 of its tuser is a bad-frame mark. The FIFO after it outputs a text only after
// that beat. It removes the beats of a text that is ill-formed, or longer than the FIFO.

module utf8_filter #(
    parameter LANES = 8,        // bytes per beat, as in utf8_validator
    parameter ADDRESS_BITS = 9  // the FIFO holds 2**ADDRESS_BITS beats
) (
    input  wire               clk,
    input  wire               rst,
    input  wire [8*LANES-1:0] s_axis_tdata,
    input  wire [LANES-1:0]   s_axis_tkeep,
    input  wire               s_axis_tvalid,
    output wire               s_axis_tready,
    input  wire               s_axis_tlast,
    output reg  [8*LANES-1:0] m_axis_tdata,
    output reg  [LANES-1:0]   m_axis_tkeep,
    output reg                m_axis_tvalid,
    input  wire               m_axis_tready,
    output reg                m_axis_tlast,
    output reg                dropped  // high for a cycle for each dropped text
);

  wire [8*LANES-1:0] tdata;
  wire [LANES-1:0] tkeep;
  wire tvalid, tready, tlast;
  wire [35:0] tuser;
  wire bad = tuser[0];  // tuser[3:1] is the kind of the first error, tuser[35:4] its offset

  utf8_validator validator (
      .clk(clk),
      .rst(rst),
      .s_axis_tdata(s_axis_tdata),
      .s_axis_tkeep(s_axis_tkeep),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tlast(s_axis_tlast),
      .m_axis_tdata(tdata),
      .m_axis_tkeep(tkeep),
      .m_axis_tvalid(tvalid),
      .m_axis_tready(tready),
      .m_axis_tlast(tlast),
      .m_axis_tuser(tuser)
  );

  // Pointers have one bit more than addresses, so that a full FIFO differs from an empty one.
  reg [9*LANES:0] memory [0:(1<<ADDRESS_BITS)-1];
  reg [ADDRESS_BITS:0] next_write;  // after the newest beat
  reg [ADDRESS_BITS:0] text_begin;  // first beat of the incomplete text
  reg [ADDRESS_BITS:0] next_read;
  reg too_long;                     // this text alone has filled the FIFO

  wire full = next_write == (next_read ^ (1 << ADDRESS_BITS));
  wire empty = next_read == text_begin;
  wire overflow = too_long | (full & empty);

  assign tready = ~full | overflow;
  wire write = tvalid & tready;
  wire [ADDRESS_BITS:0] after_write = next_write + 1'b1;

  always @(posedge clk) begin
    dropped <= 1'b0;
    if (write & ~overflow) memory[next_write[ADDRESS_BITS-1:0]] <= {tlast, tkeep, tdata};
    if (write & tlast) begin
      too_long <= 1'b0;
      if (bad | overflow) begin
        next_write <= text_begin;
        dropped <= 1'b1;
      end else begin
        next_write <= after_write;
        text_begin <= after_write;
      end
    end else if (write) begin
      too_long <= overflow;
      if (~overflow) next_write <= after_write;
    end
    if (~m_axis_tvalid | m_axis_tready) begin
      {m_axis_tlast, m_axis_tkeep, m_axis_tdata} <= memory[next_read[ADDRESS_BITS-1:0]];
      m_axis_tvalid <= ~empty;
      if (~empty) next_read <= next_read + 1'b1;
    end
    if (rst) begin
      next_write <= 0;
      text_begin <= 0;
      next_read <= 0;
      too_long <= 1'b0;
      m_axis_tvalid <= 1'b0;
      dropped <= 1'b0;
    end
  end
endmodule
