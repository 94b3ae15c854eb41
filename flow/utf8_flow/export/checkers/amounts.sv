
  // --- Amounts -----------------------------------------------------------------------------------

  reg [15:0] given = 16'd0;       // sum of the amounts that were accepted, modulo 2**16
  reg [15:0] received = 16'd0;    // sum of those that came out
  reg [16*HELD-1:0] amounts = 0;  // `given` at the end of each text in `held`, the oldest one lowest

  // The number of lanes with tkeep.
  function automatic [15:0] kept(input [LANES-1:0] keep);
    integer lane;
    begin
      kept = 16'd0;
      for (lane = 0; lane < LANES; lane = lane + 1) kept = kept + keep[lane];
    end
  endfunction

  // The sum of the lengths of all slots, in tuser.
  function automatic [15:0] lengths(input [8*LANES+7:0] user);
    integer slot;
    begin
      lengths = 16'd0;
      for (slot = 0; slot <= LANES; slot = slot + 1) lengths = lengths + user[8*slot+4 +: 4];
    end
  endfunction

  wire [15:0] given_next = given + kept(s_axis_tkeep);
  wire [15:0] received_next = received + m_amount;
  wire [15:0] owed = given - received_next;

  always @(posedge clock) begin
    if (!checked || accepted) given <= checked ? given_next : 16'd0;
    if (!checked || taken) received <= checked ? received_next : 16'd0;
    amounts <= checked ? amounts >> 16 * (taken && m_axis_tlast)
      | {given_next & {16{accepted && s_axis_tlast}}} << 16 * left : 0;

    if (content && m_axis_tvalid) begin
      // A1. No more comes out than was accepted.
      assert (!owed[15]);
      // A2. With tlast, all of the text has come out, and nothing of the next one.
      assert (!m_axis_tlast || received_next == amounts[15:0]);
    end
  end
