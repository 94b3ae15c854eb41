
  // --- Latency -----------------------------------------------------------------------------------

  reg [7:0] idle = 8'd0;  // cycles in which an output was due, since the last valid one

  always @(posedge clock) begin
    idle <= checked && is_due && !m_axis_tvalid ? idle + 8'd1 : 8'd0;
    // L1. An output that is due comes within LATENCY cycles.
    if (content) assert (idle < LATENCY);
  end
