
  // --- Streams -----------------------------------------------------------------------------------

  reg active = !RESET_FIRST;       // the state is known
  reg after_reset = !RESET_FIRST;  // the initial state is that after a reset
  reg s_waited = 1'b0;             // the input of the cycle before was not accepted
  reg m_waited = 1'b0;             // the output of the cycle before was not taken
  reg [S_WIDTH-1:0] s_before = 0;
  reg [M_WIDTH-1:0] m_before = 0;

  wire checked = active && !reset;
  wire content = checked && !STREAMS_ONLY;
  wire accepted = checked && s_axis_tvalid && s_axis_tready;
  wire taken = checked && m_axis_tvalid && m_axis_tready;

  always @(posedge clock) begin
    active <= active || reset;
    after_reset <= reset;
    s_waited <= checked && s_axis_tvalid && !s_axis_tready;
    m_waited <= checked && m_axis_tvalid && !m_axis_tready;
    s_before <= s_payload;
    m_before <= m_payload;

    if (active && after_reset) begin
      // S1. After a clock edge with reset, no output is valid and no input is accepted.
      assert (!m_axis_tvalid);
      assert (!s_axis_tready);
    end
    if (checked && s_waited) begin
      // S2. An input that is offered holds until it is accepted.
      `UTF8_INPUT (s_axis_tvalid);
      `UTF8_INPUT (s_payload == s_before);
    end
    if (checked && m_waited) begin
      // S3. An output that is valid holds until it is taken.
      assert (m_axis_tvalid);
      assert (m_payload == m_before);
    end
  end
