// A decoder that is right, and one that breaks a single rule of `utf8-hdl conform` for each number
// in the file `bug` of the current folder; without the file the number is BUG.

module wrong_decoder #(
    parameter BUG = 0,
    parameter NONCHARACTERS = 1
) (
    input clk,
    input rst,
    input [7:0] s_axis_tdata,
    input s_axis_tvalid,
    output s_axis_tready,
    input s_axis_tlast,
    output [31:0] m_axis_tdata,
    output m_axis_tvalid,
    input m_axis_tready,
    output m_axis_tlast,
    output [7:0] m_axis_tuser
);

    localparam [2:0] UNEXPECTED = 1, INVALID = 2, OVERLONG = 3, SURROGATE = 4, RANGE = 5;
    localparam [2:0] TRUNCATED = 6, NONCHARACTER = 7;

    // The rules, by the number that breaks them.
    localparam ONE = 1, TWO = 2, THREE = 3, FOUR = 4, MIXED = 5, B_UNEXPECTED = 6, B_INVALID = 7;
    localparam B_OVERLONG = 8, B_SURROGATE = 9, B_RANGE = 10, B_TRUNCATED = 11;
    localparam B_NONCHARACTER = 12, REPLACEMENT = 13, KIND = 14, KEPT = 15, SPAN = 16;
    localparam LENGTH = 17, CUT = 18, LAST = 19, NEW_TEXT = 20, PROMPT = 21, GAPS = 22;
    localparam STALLS = 23, STABLE = 24, VALID_FIRST = 25, HANG = 26, RATE = 27;
    localparam RATE_HOSTILE = 28, RESET = 29, QUIET = 30, DEFINED = 31;

`ifdef YOSYS
    localparam bug = BUG;
`else
    integer bug, file, found;
    initial begin
        bug = BUG;
        file = $fopen("bug", "r");
        if (file != 0) begin
            found = $fscanf(file, "%d", bug);
            $fclose(file);
        end
    end
`endif

    // Tokens in flight: last, length, kind, value.
    reg [31:0] queue[0:15];
    reg [3:0] head = 0, tail = 0;
    wire [3:0] count = tail - head;
    reg stopped = 0, odd = 0, slow = 0, fresh = 0;
    reg [7:0] never;

    // The sequence that is not complete: bytes so far, and bytes to come.
    reg [3:0] have = 0, need = 0;
    reg [20:0] value = 0;
    reg [7:0] lowest = 0, highest = 0;
    reg [7:0] lead = 0;
    reg was_four = 0, skip = 0;

    wire [31:0] out = queue[head];
    wire [2:0] kind = out[23:21];
    wire waits = bug == PROMPT && count == 1 && !out[31] && kind == 0;
    assign m_axis_tvalid = fresh && bug == QUIET || (count != 0 && !waits
                           && !(bug == STABLE && odd) && !(bug == VALID_FIRST && !m_axis_tready));
    assign s_axis_tready = (count < 12 || bug == STALLS) && !stopped && !slow
                           && !(bug == RATE && odd);
    assign m_axis_tdata = kind != 0 && bug == REPLACEMENT ? 0
                        : {bug == DEFINED ? never : 8'd0, 3'd0, kind != 0 ? 21'h0FFFD : out[20:0]};
    assign m_axis_tlast = out[31] && bug != LAST;
    assign m_axis_tuser = {bug == LENGTH && kind != 0 ? 4'd1 : {1'b0, out[26:24]},
                           bug == KIND && kind == OVERLONG ? INVALID : kind, kind != 0};

    task put(input [20:0] v, input [2:0] k, input [2:0] l, input e);
        begin
            queue[tail] = {e, 4'd0, l, k, v};
            tail = tail + 1;
        end
    endtask

    // Ends the pending bytes as an error.
    task cut(input [2:0] k, input e);
        begin
            put(0, k, have[2:0], e);
            have = 0;
            skip = bug == SPAN;
            if (bug == RATE_HOSTILE) slow = 1;
        end
    endtask

    function [2:0] why(input [7:0] first, input [7:0] second);
        if (first == 8'hED) why = SURROGATE;
        else if (first == 8'hF4) why = RANGE;
        else why = OVERLONG;
    endfunction

    task begin_with(input [7:0] b, input e);
        begin
            if (b[7:6] != 2'b10) skip = 0;
            have = 1;
            lead = b;
            lowest = 8'h80;
            highest = 8'hBF;
            if (b < 8'h80) begin
                put(bug == ONE && b == 8'h7F ? 0 : b, 0, 1, e);
                have = 0;
                was_four = 0;
            end else if (b < 8'hC0) begin
                have = 0;
                if (bug == B_UNEXPECTED) put(b, 0, 1, e);
                else if (!skip) put(0, UNEXPECTED, 1, e);
                skip = bug == SPAN;
            end else if (b < 8'hC2) begin
                cut(OVERLONG, e);
            end else if (b < 8'hE0) begin
                need = 2;
                value = b[4:0];
                if (bug == MIXED && was_four) value = value | 21'h0400;
            end else if (b < 8'hF0) begin
                need = 3;
                value = b[3:0];
                if (b == 8'hE0 && bug != B_OVERLONG) lowest = 8'hA0;
                if (b == 8'hED && bug != B_SURROGATE) highest = 8'h9F;
            end else if (b < 8'hF5) begin
                need = 4;
                value = b[2:0];
                if (b == 8'hF0) lowest = 8'h90;
                if (b == 8'hF4 && bug != B_RANGE) highest = 8'h8F;
            end else if (bug == B_INVALID && b >= 8'hFE) begin
                put(b, 0, 1, e);
                have = 0;
            end else begin
                if (bug == HANG && b == 8'hFF) stopped = 1;
                cut(b >= 8'hFE ? INVALID : RANGE, e);
            end
            if (have != 0 && e) begin
                if (bug == CUT) have = 0;
                else cut(TRUNCATED, 1);
                if (bug == NEW_TEXT) have = 1;
            end
        end
    endtask

    task complete(input e);
        begin
            have = 0;
            was_four = need == 4;
            if (bug == TWO && value == 21'h80) value = 0;
            if (bug == THREE && value == 21'hE000) value = 0;
            if (bug == FOUR && value == 21'h10FFFF) value = 0;
            if (NONCHARACTERS == 0 && value[20:1] == 20'h07FFF && bug != B_NONCHARACTER)
                put(0, NONCHARACTER, 3, e);
            else put(value, 0, need[2:0], e);
        end
    endtask

    task accept(input [7:0] b, input e);
        if (have == 0) begin_with(b, e);
        else if (b[7:6] != 2'b10) begin
            if (bug == B_TRUNCATED) have = 0;
            else cut(TRUNCATED, bug == KEPT && e);
            if (bug != KEPT) begin_with(b, e);
        end else if (b < lowest || b > highest) begin
            cut(why(lead, b), 0);
            begin_with(b, e);
        end else begin
            have = have + 1;
            value = {value[14:0], b[5:0]};
            lowest = 8'h80;
            highest = 8'hBF;
            if (have == need) complete(e);
            else if (e) begin
                if (bug == CUT) have = 0;
                else cut(TRUNCATED, 1);
                if (bug == NEW_TEXT) have = 1;
            end
        end
    endtask

    reg took;
    always @(posedge clk) begin
        took = s_axis_tvalid && s_axis_tready;
        odd <= bug == STABLE ? m_axis_tvalid && !m_axis_tready : !odd;
        fresh <= rst;
        slow = 0;
        if (m_axis_tvalid && m_axis_tready && count != 0) head = head + 1;
        if (rst) begin
            head = 0;
            tail = 0;
            stopped = 0;
            skip = 0;
            was_four = 0;
            if (bug != RESET) have = 0;
        end else if (took) begin
            accept(s_axis_tdata, s_axis_tlast);
            if (s_axis_tlast) begin
                was_four = 0;
                skip = 0;
            end
        end else if (bug == GAPS && !s_axis_tvalid) have = 0;
    end
endmodule
