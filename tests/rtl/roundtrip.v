// COUNT values through utf8_encoder and utf8_decoder at full rate: 0, 1, 2 and so on, or random ones
// of all lengths up to HIGHEST.
//
// The decoder must give each value back, as a character of the right length, and U+FFFD where
// REFUSE_SURROGATES or REFUSE_NONCHARACTERS says that the encoder refuses the value. Byte strings
// of values that follow each other must sort as the values do.

`timescale 1ns / 1ns

module roundtrip;
    parameter WIDTH = 32;
    parameter COUNT = 32'h110000;
    parameter RANDOM = 0;
    parameter [63:0] HIGHEST = 64'h10ffff;
    parameter BITS = 21;
    parameter REFUSE_SURROGATES = 1;
    parameter REFUSE_NONCHARACTERS = 0;

    reg clk = 0;
    reg rst = 1;
    reg [31:0] sent = 0;                     // how many values the encoder has accepted
    reg [63:0] source = RANDOM ? 64'h9e3779b97f4a7c15 : 0;
    wire [63:0] value = value_of(source);
    wire valid = !rst && sent < COUNT;
    wire ready;
    wire [7:0] data;
    wire data_valid, data_ready, data_last, replaced;
    wire [WIDTH-1:0] code_point;
    wire token_valid, token_last;
    wire [7:0] token_user;

    utf8_encoder encoder (
        .clk(clk), .rst(rst), .s_axis_tdata(value[WIDTH-1:0]), .s_axis_tvalid(valid),
        .s_axis_tready(ready), .s_axis_tlast(sent == COUNT - 1), .m_axis_tdata(data),
        .m_axis_tvalid(data_valid), .m_axis_tready(data_ready), .m_axis_tlast(data_last),
        .m_axis_tuser(replaced)
    );
    utf8_decoder decoder (
        .clk(clk), .rst(rst), .s_axis_tdata(data), .s_axis_tvalid(data_valid),
        .s_axis_tready(data_ready), .s_axis_tlast(data_last), .m_axis_tdata(code_point),
        .m_axis_tvalid(token_valid), .m_axis_tready(1'b1), .m_axis_tlast(token_last),
        .m_axis_tuser(token_user)
    );

    always #5 clk = ~clk;

    // The state of a counter, or of Marsaglia's xorshift generator, and the value it stands for.
    function [63:0] step(input [63:0] x);
        reg [63:0] y;
        begin
            y = x ^ (x << 13);
            y = y ^ (y >> 7);
            step = RANDOM ? y ^ (y << 17) : x + 1;
        end
    endfunction

    function [63:0] value_of(input [63:0] x);
        value_of = RANDOM ? (x & HIGHEST) >> (x[63:58] % BITS) : x;
    endfunction

    function refused(input [63:0] x);
        refused = (REFUSE_SURROGATES && x >= 64'hd800 && x <= 64'hdfff)
               || (REFUSE_NONCHARACTERS && (x == 64'hfffe || x == 64'hffff));
    endfunction

    function [3:0] bytes_of(input [63:0] x);
        bytes_of = x >> 7 == 0 ? 1 : x >> 11 == 0 ? 2 : x >> 16 == 0 ? 3 : x >> 21 == 0 ? 4
                 : x >> 26 == 0 ? 5 : x >> 31 == 0 ? 6 : x >> 36 == 0 ? 7 : 8;
    endfunction

    task fail(input [8*24-1:0] what);
        begin
            $display("FAIL %0s at value %0h: got %0h, user %b", what, want, code_point, token_user);
            $finish;
        end
    endtask

    reg [31:0] received = 0;
    reg [63:0] wanted = RANDOM ? 64'h9e3779b97f4a7c15 : 0;
    wire [63:0] want = value_of(wanted);     // the value that the decoder must give next
    reg [63:0] bytes = 0;                    // the bytes of the character so far
    reg [63:0] previous = 0;                 // those of the character before, left-aligned
    reg [63:0] aligned;
    reg [3:0] count = 0;
    reg flagged = 0;
    integer characters = 0;
    integer quiet = 0;
    integer longest = 0;                     // tokens as long as the highest value's

    always @(posedge clk) begin
        rst <= 0;
        if (valid && ready) begin
            sent <= sent + 1;
            source <= step(source);
        end

        // Strings are compared when the next one begins: at its first byte, below 80 or above BF.
        if (data_valid && data_ready) begin
            if (data < 8'h80 || data > 8'hbf) begin
                aligned = bytes << 8 * (8 - count);
                if (!RANDOM && characters > 1 && !flagged && aligned <= previous) fail("order");
                if (count != 0 && !flagged) previous <= aligned;
                bytes <= data;
                count <= 1;
                flagged <= replaced;
                characters = characters + 1;
                if (replaced && data != 8'hef) fail("flag");
            end else begin
                bytes <= bytes << 8 | data;
                count <= count + 1;
                if (replaced != flagged) fail("flag");
            end
        end

        quiet <= token_valid ? 0 : quiet + 1;
        if (quiet == 100) fail("hang");
        if (token_valid) begin
            if (code_point != (refused(want) ? 64'hfffd : want)) fail("code point");
            if (token_user[3:0] != 0) fail("error");
            if (token_user[7:4] != (refused(want) ? 3 : bytes_of(want))) fail("length");
            if (token_last != (received == COUNT - 1)) fail("last");
            if (token_user[7:4] == bytes_of(HIGHEST)) longest = longest + 1;
            if (received == COUNT - 1) begin
                $display("PASS %0d values, %0d of the longest form", received + 1, longest);
                $finish;
            end
            received <= received + 1;
            wanted <= step(wanted);
        end
    end
endmodule
