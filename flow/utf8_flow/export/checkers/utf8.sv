
  // --- UTF-8 -------------------------------------------------------------------------------------

  // The lowest value that needs a number of bytes: fewer carry 7, 11, 16, 21, 26, 31 or 36 bits
  // (RFC 3629, section 3; RFC 2279, section 2; FE and FF are lead bytes of 7 and 8 bytes).
  function automatic [41:0] lowest(input [3:0] length);
    case (length)
      4'd1: lowest = 42'h0;
      4'd2: lowest = 42'h80;
      4'd3: lowest = 42'h800;
      4'd4: lowest = 42'h1_0000;
      4'd5: lowest = 42'h20_0000;
      4'd6: lowest = 42'h400_0000;
      4'd7: lowest = 42'h8000_0000;
      default: lowest = 42'h10_0000_0000;
    endcase
  endfunction

  function automatic is_rejected_noncharacter(input [41:0] value);
    is_rejected_noncharacter = !NONCHARACTERS && (value == 42'hFFFE || value == 42'hFFFF);
  endfunction
