
  // --- Sequences ---------------------------------------------------------------------------------

  localparam WINDOW = 8 * (LONGEST + 1);

  // In these functions, `window` has bytes in their order, the first one lowest.

  // The number of bytes that a lead byte announces: its leading ones, or 1; 0 for 80 to BF.
  function automatic [3:0] announced(input [7:0] lead);
    integer i;
    reg run;
    begin
      announced = 4'd0;
      run = 1'b1;
      for (i = 7; i >= 0; i = i - 1) begin
        run = run && lead[i];
        if (run) announced = announced + 4'd1;
      end
      announced = announced == 4'd0 ? 4'd1 : announced == 4'd1 ? 4'd0 : announced;
    end
  endfunction

  // True if the first `known` bytes are continuation bytes, except the first one.
  function automatic joined(input [WINDOW-1:0] window, input [3:0] known);
    integer i;
    begin
      joined = 1'b1;
      for (i = 1; i <= LONGEST; i = i + 1)
        if (i < known && window[8*i+6 +: 2] != 2'b10) joined = 1'b0;
    end
  endfunction

  // The value of the sequence, with the bits of `filler` in place of bytes that are not known.
  function automatic [41:0] value(input [WINDOW-1:0] window, input [3:0] known, input [5:0] filler);
    integer i;
    reg [3:0] length;
    begin
      length = announced(window[7:0]);
      value = window[7:0] & (length == 4'd1 ? 8'h7F : 8'hFF >> (length + 4'd1));
      for (i = 1; i < LONGEST; i = i + 1)
        if (i < length) value = {value[35:0], i < known ? window[8*i +: 6] : filler};
    end
  endfunction

  // True if the first `known` bytes begin a sequence that the profile accepts: with some values of
  // the other bytes, it is the shortest, not too high and no surrogate (Unicode D92, D93b).
  function automatic begins(input [WINDOW-1:0] window, input [3:0] known);
    reg [3:0] length;
    reg [41:0] low, high;
    begin
      length = announced(window[7:0]);
      low = value(window, known, 6'h00);
      high = value(window, known, 6'h3F);
      begins = length != 4'd0 && length <= LONGEST && known <= length && joined(window, known)
        && high >= lowest(length) && low <= HIGHEST
        && (SURROGATES || low < 42'hD800 || high > 42'hDFFF);
    end
  endfunction
