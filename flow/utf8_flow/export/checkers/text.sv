
  // --- Well-formed texts -------------------------------------------------------------------------

  // The state of a text: bit 0 is its error; the others are the bytes of the sequence that has
  // begun, and their number.
  localparam TEXT = WINDOW + 5;

  // The state after the bytes of a beat, whose lanes without tkeep have none.
  function automatic [TEXT-1:0] after(
    input [TEXT-1:0] text, input [8*LANES-1:0] data, input [LANES-1:0] keep
  );
    integer i;
    reg [WINDOW-1:0] window;
    reg [3:0] known;
    reg error;
    begin
      {window, known, error} = text;
      for (i = 0; i < LANES; i = i + 1)
        if (keep[i] && !error) begin
          window = window | {data[8*i +: 8]} << 8 * known;
          known = known + 4'd1;
          error = !begins(window, known);
          if (known == announced(window[7:0])) begin
            error = error || is_rejected_noncharacter(value(window, known, 6'h00));
            window = 0;
            known = 4'd0;
          end
        end
      after = {window, known, error};
    end
  endfunction

  // True if a text that ends in this state is ill-formed.
  function automatic is_ill_formed(input [TEXT-1:0] text);
    is_ill_formed = text[4:0] != 5'd0;
  endfunction
