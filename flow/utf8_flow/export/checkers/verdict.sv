
  // --- Verdicts ----------------------------------------------------------------------------------

  reg [TEXT-1:0] text_in = 0;   // the input since the last tlast
  reg [HELD-1:0] verdicts = 0;  // for each text in `held`: it is ill-formed; the oldest one lowest

  wire text_error = m_axis_tuser;  // bit 0
  wire [TEXT-1:0] text_in_next = after(text_in, s_axis_tdata, s_axis_tkeep);

  always @(posedge clock) begin
    if (!checked || accepted) text_in <= checked && !s_axis_tlast ? text_in_next : 0;
    verdicts <= checked ? verdicts >> (taken && m_axis_tlast)
      | {{HELD{1'b0}}, accepted && s_axis_tlast && is_ill_formed(text_in_next)} << left : 0;

    // E1. With tlast, error is set exactly if the text is ill-formed. Without, tuser is zero.
    if (content && m_axis_tvalid)
      assert (m_axis_tlast ? text_error == verdicts[0] : m_axis_tuser == 0);
  end
