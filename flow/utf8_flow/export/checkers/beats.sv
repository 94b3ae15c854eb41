
  // --- Texts -------------------------------------------------------------------------------------

  reg [7:0] held = 8'd0;  // number of texts whose last beat was accepted and has not come out

  wire is_due = held != 8'd0;
  wire [7:0] left = held - (taken && m_axis_tlast);

  always @(posedge clock) begin
    held <= checked ? left + (accepted && s_axis_tlast) : 8'd0;

    if (checked && s_axis_tvalid && S_DENSE) begin
      // K1. An input beat has bytes in all lanes or, with tlast, in the first lanes.
      `UTF8_INPUT ((s_axis_tkeep & (s_axis_tkeep + 1'b1)) == 0);
      `UTF8_INPUT (s_axis_tlast || &s_axis_tkeep);
    end
    if (content && m_axis_tvalid && M_DENSE) begin
      // K2. An output beat has bytes in all lanes or, with tlast, in the first lanes.
      assert ((m_axis_tkeep & (m_axis_tkeep + 1'b1)) == 0);
      assert (m_axis_tlast || &m_axis_tkeep);
    end
    if (content) begin
      // K3. Each text that ends in the output ended in the input before.
      assert (!(m_axis_tvalid && m_axis_tlast) || held != 8'd0);
      // K4. At most HELD texts are inside.
      assert (left + (accepted && s_axis_tlast) <= HELD);
    end
  end
