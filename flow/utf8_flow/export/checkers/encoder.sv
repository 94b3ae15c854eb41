
  // --- Bytes -------------------------------------------------------------------------------------

  localparam S_WORD = S_WIDTH - 1;  // tdata; the other bit is tlast

  reg [7:0] held = 8'd0;                  // number of code points whose last byte was not taken
  reg [S_WORD*HELD-1:0] code_points = 0;  // these code points, the oldest one lowest
  reg [HELD-1:0] ends = 0;                // tlast of each
  reg [3:0] sent = 4'd0;                  // bytes of the oldest one that were taken

  // The oldest code point, or U+FFFD if the profile rejects it (RFC 3629, section 3; Unicode D92).
  wire [63:0] given = code_points[S_WORD-1:0];
  wire is_refused = given > HIGHEST || is_rejected_noncharacter(given)
    || (!SURROGATES && given >= 16'hD800 && given <= 16'hDFFF);
  wire [41:0] value = is_refused ? 42'hFFFD : given;

  // The number of its bytes: as few as can carry it.
  function automatic [3:0] shortest(input [41:0] code_point);
    integer i;
    begin
      shortest = 4'd1;
      for (i = 2; i <= LONGEST; i = i + 1) if (code_point >= lowest(i)) shortest = i;
    end
  endfunction

  // Its next byte: a lead byte has a one for each byte, then a zero; the others have 10.
  wire [3:0] length = shortest(value);
  wire [3:0] following = length - 4'd1 - sent;
  wire [41:0] shifted = value >> 6 * following;
  wire [7:0] lead = length == 4'd1 ? 8'h00 : ~(8'hFF >> length);
  wire [7:0] next_byte = sent == 4'd0 ? lead | shifted[7:0] : {2'b10, shifted[5:0]};

  wire is_due = held != 8'd0;
  wire gone = taken && following == 4'd0;
  wire [7:0] left = held - gone;

  always @(posedge clock) begin
    held <= checked ? left + accepted : 8'd0;
    sent <= !checked || gone ? 4'd0 : sent + taken;
    code_points <= checked ? code_points >> S_WORD * gone
      | {s_axis_tdata & {S_WORD{accepted}}} << S_WORD * left : 0;
    ends <= checked ? ends >> gone | {s_axis_tlast && accepted} << left : 0;

    if (content && m_axis_tvalid) begin
      // B1. A byte belongs to a code point that was accepted before.
      assert (held != 8'd0);
      // B2. It is the next one of the shortest form, of U+FFFD if the profile rejects the value.
      assert (m_axis_tdata == next_byte);
      assert (m_axis_tuser == is_refused);
      // B3. The last byte of the code point has its tlast, the others have none.
      assert (m_axis_tlast == (ends[0] && following == 4'd0));
    end
    // B4. The last bytes of at most HELD code points are missing.
    if (content) assert (left + accepted <= HELD);
  end
