// Every value from 0 to LAST through utf8_encoder and utf8_decoder, in order, at full rate.
//
// The decoder must give each value back, as a character of the right length, and U+FFFD where
// REFUSE_SURROGATES or REFUSE_NONCHARACTERS says that the encoder refuses the value. The byte strings
// must sort as the values do.

`timescale 1ns / 1ns

module roundtrip;
    parameter [31:0] LAST = 32'h10ffff;
    parameter REFUSE_SURROGATES = 1;
    parameter REFUSE_NONCHARACTERS = 0;

    reg clk = 0;
    reg rst = 1;
    reg [31:0] value = 0;
    reg valid = 0;
    wire ready;
    wire [7:0] data;
    wire data_valid, data_ready, data_last, replaced;
    wire [31:0] code_point;
    wire token_valid, token_last;
    wire [7:0] token_user;

    utf8_encoder encoder (
        .clk(clk), .rst(rst), .s_axis_tdata(value), .s_axis_tvalid(valid), .s_axis_tready(ready),
        .s_axis_tlast(value == LAST), .m_axis_tdata(data), .m_axis_tvalid(data_valid),
        .m_axis_tready(data_ready), .m_axis_tlast(data_last), .m_axis_tuser(replaced)
    );
    utf8_decoder decoder (
        .clk(clk), .rst(rst), .s_axis_tdata(data), .s_axis_tvalid(data_valid),
        .s_axis_tready(data_ready), .s_axis_tlast(data_last), .m_axis_tdata(code_point),
        .m_axis_tvalid(token_valid), .m_axis_tready(1'b1), .m_axis_tlast(token_last),
        .m_axis_tuser(token_user)
    );

    always #5 clk = ~clk;

    function refused(input [31:0] x);
        refused = (REFUSE_SURROGATES && x >= 32'hd800 && x <= 32'hdfff)
               || (REFUSE_NONCHARACTERS && (x == 32'hfffe || x == 32'hffff));
    endfunction

    function [3:0] bytes_of(input [31:0] x);
        bytes_of = x < 32'h80 ? 1 : x < 32'h800 ? 2 : x < 32'h10000 ? 3 : 4;
    endfunction

    task fail(input [8*24-1:0] what);
        begin
            $display("FAIL %0s at value %0h: got %0h, user %b", what, want, code_point, token_user);
            $finish;
        end
    endtask

    reg [31:0] want = 0;       // the value that the decoder must give next
    reg [31:0] bytes = 0;      // the bytes of the character so far
    reg [31:0] previous = 0;   // those of the character before, left-aligned
    reg [2:0] count = 0;
    reg flagged = 0;
    integer characters = 0;
    integer quiet = 0;
    reg [31:0] aligned;

    always @(posedge clk) begin
        rst <= 0;
        valid <= !rst && !(valid && ready && value == LAST) && !(value > LAST);
        if (valid && ready) value <= value + 1;

        // The strings are compared when the next one begins: at its first byte, below 80 or above BF.
        if (data_valid && data_ready) begin
            if (data < 8'h80 || data > 8'hbf) begin
                aligned = bytes << 8 * (4 - count);
                if (characters > 1 && !flagged && aligned <= previous) fail("order");
                if (count != 0 && !flagged) previous <= aligned;
                bytes <= data;
                count <= 1;
                flagged <= replaced;
                characters = characters + 1;
            end else begin
                bytes <= bytes << 8 | data;
                count <= count + 1;
            end
            if (replaced != (flagged && data <= 8'hbf && data >= 8'h80 || replaced && data == 8'hef))
                fail("flag");
        end

        quiet <= token_valid ? 0 : quiet + 1;
        if (quiet == 100) fail("hang");
        if (token_valid) begin
            if (code_point != (refused(want) ? 32'hfffd : want)) fail("code point");
            if (token_user[3:0] != 0) fail("error");
            if (token_user[7:4] != (refused(want) ? 3 : bytes_of(want))) fail("length");
            if (token_last != (want == LAST)) fail("last");
            if (want == LAST) begin
                $display("PASS %0d values", want + 1);
                $finish;
            end
            want <= want + 1;
        end
    end

endmodule
