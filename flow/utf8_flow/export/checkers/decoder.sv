
  // --- Bytes of tokens ---------------------------------------------------------------------------

  // Here, `window` has the first bytes that no token has covered.

  // The most bytes of the token: one if no sequence begins like this.
  function automatic [3:0] most(input [7:0] lead);
    most = announced(lead) == 4'd0 || announced(lead) > LONGEST ? 4'd1 : announced(lead);
  endfunction

  // True if the first `known` bytes are of one token.
  function automatic together(input [WINDOW-1:0] window, input [3:0] known);
    together = known <= 4'd1
      || (WHOLE_SEQUENCE ? known <= most(window[7:0]) && joined(window, known)
                         : begins(window, known));
  endfunction

  // True if there is a next byte that would be of the same token as the first `known` bytes.
  function automatic is_open(input [WINDOW-1:0] window, input [3:0] known);
    is_open = known < most(window[7:0]) && (WHOLE_SEQUENCE || begins(window, known));
  endfunction

  // --- Tokens ------------------------------------------------------------------------------------

  reg [7:0] held = 8'd0;        // number of bytes that were accepted and that no token has covered
  reg [8*HELD-1:0] bytes = 0;   // these bytes, the oldest one lowest
  reg [HELD-1:0] ends = 0;      // tlast of each

  wire [WINDOW-1:0] window = bytes[WINDOW-1:0];
  wire error = m_axis_tuser[0];
  wire [2:0] kind = m_axis_tuser[3:1];
  wire [3:0] length = m_axis_tuser[7:4];
  wire [3:0] next_length = length + 4'd1;
  wire [41:0] code_point = value(window, length, 6'h00);
  wire is_character = length == announced(window[7:0]) && begins(window, length)
    && !is_rejected_noncharacter(code_point);
  wire is_cut = held > length && !together(window, next_length);

  // Tlast of the bytes that the token covers, and of those among them before the last one.
  wire [LONGEST-1:0] covered_ends = ends[LONGEST-1:0] & ~({LONGEST{1'b1}} << length);
  wire [LONGEST-1:0] inner_ends = covered_ends & ~({LONGEST{1'b1}} << (length - 4'd1));

  // True if a token is due: no other byte could be of the token of the oldest bytes.
  wire [3:0] oldest = held < LONGEST ? held[3:0] : LONGEST;
  wire is_due = held != 8'd0
    && (ends != 0 || !together(window, oldest) || !is_open(window, oldest));

  wire [3:0] gone = taken ? length : 4'd0;
  wire [7:0] left = held - gone;

  always @(posedge clock) begin
    held <= checked ? left + accepted : 8'd0;
    bytes <= checked ? bytes >> 8 * gone | {s_axis_tdata & {8{accepted}}} << 8 * left : 0;
    ends <= checked ? ends >> gone | {s_axis_tlast && accepted} << left : 0;

    if (content && m_axis_tvalid) begin
      // T1. A token covers 1 to LONGEST bytes, which were accepted before.
      assert (length != 4'd0 && length <= LONGEST);
      assert (length <= held);
      // T2. Its tlast is that of its last byte. The bytes before do not end the text.
      assert (m_axis_tlast == (covered_ends != 0));
      assert (inner_ends == 0);
      // T3. Its bytes belong together. After the last one, the text ends, or the token is as long
      //    as it can be, or the next byte was accepted and does not belong to it.
      assert (together(window, length));
      assert (m_axis_tlast || !is_open(window, length) || is_cut);
      // T4. It is an error exactly if its bytes are no character. Only an error has a kind.
      assert (error == !is_character);
      assert (error == (kind != 3'd0));
      // T5. The code point is that of its bytes, or U+FFFD in an error.
      assert (m_axis_tdata == (error ? 42'hFFFD : code_point));
    end
    // T6. At most HELD bytes wait for their tokens.
    if (content) assert (left + accepted <= HELD);
  end
