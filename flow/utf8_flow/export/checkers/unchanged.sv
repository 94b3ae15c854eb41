
  // --- Beats that come out as they went in -------------------------------------------------------

  localparam BEAT = 9 * LANES + 1;

  // The beat, with zeros in lanes without tkeep.
  function automatic [BEAT-1:0] beat(input [8*LANES-1:0] data, input [LANES-1:0] keep, input last);
    integer i;
    begin
      beat = {data, keep, last};
      for (i = 0; i < LANES; i = i + 1) if (!keep[i]) beat[LANES+1+8*i +: 8] = 8'h00;
    end
  endfunction

  reg [7:0] waiting = 8'd0;       // number of beats that were accepted and have not come out
  reg [BEAT*HELD-1:0] beats = 0;  // these beats, the oldest one lowest

  wire [7:0] still_waiting = waiting - taken;
  wire [BEAT-1:0] beat_in = beat(s_axis_tdata, s_axis_tkeep, s_axis_tlast);

  always @(posedge clock) begin
    waiting <= checked ? still_waiting + accepted : 8'd0;
    beats <= checked ? beats >> BEAT * taken
      | {beat_in & {BEAT{accepted}}} << BEAT * still_waiting : 0;

    if (content) begin
      // U1. Each beat comes out as it was accepted.
      assert (!m_axis_tvalid || waiting != 8'd0
        && beat(m_axis_tdata, m_axis_tkeep, m_axis_tlast) == beats[BEAT-1:0]);
      // U2. At most HELD beats are inside.
      assert (still_waiting + accepted <= HELD);
    end
  end
