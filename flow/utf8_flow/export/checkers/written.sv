
  // --- The text in the output --------------------------------------------------------------------

  reg [TEXT-1:0] text_out = 0;  // the output since the last tlast

  wire [TEXT-1:0] text_out_next = after(text_out, m_axis_tdata, m_axis_tkeep);

  always @(posedge clock) begin
    if (!checked || taken) text_out <= checked && !m_axis_tlast ? text_out_next : 0;

    // E2. The output is well-formed.
    if (content && m_axis_tvalid)
      assert (m_axis_tlast ? !is_ill_formed(text_out_next) : !text_out_next[0]);
  end
