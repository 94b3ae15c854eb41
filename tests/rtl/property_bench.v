// Random inputs with random stalls for a generated module, and its checker.
//
// Macros:
//   DUT                            module
//   IN, OUT, USER, KEEP, M_KEEP    widths of its ports, if it has them
//   SPARSE                         any lanes may have a value
//   CHECKER                        instantiate the checker instead of binding it
//   UNKNOWN                        start the first reset later

module bench;
    reg clk = 0, rst = 1, s_valid = 0, s_last = 0, m_ready = 0;
    reg [`IN-1:0] s_data = 0;
    wire s_ready, m_valid, m_last;
    wire [`OUT-1:0] m_data;
`ifdef USER
    wire [`USER-1:0] m_user;
`define SIDEBAND .m_axis_tuser(m_user),
`else
`define SIDEBAND
`endif
`ifdef KEEP
    reg [`KEEP-1:0] s_keep = 0;
    wire [`M_KEEP-1:0] m_keep;
`define LANES .s_axis_tkeep(s_keep), .m_axis_tkeep(m_keep),
`else
`define LANES
`endif
`define PORTS \
        .clk(clk), .rst(rst), .s_axis_tdata(s_data), .s_axis_tvalid(s_valid), \
        .s_axis_tready(s_ready), .s_axis_tlast(s_last), .m_axis_tdata(m_data), `LANES \
        `SIDEBAND .m_axis_tvalid(m_valid), .m_axis_tready(m_ready), .m_axis_tlast(m_last)

    `DUT dut (`PORTS);
`ifdef CHECKER
    `CHECKER checker_of_dut (`PORTS);
`endif

    // Bytes of all kinds, continuation bytes most often; code points of all sizes.
    function [31:0] some_input(input integer unused);
        case ($random & 15)
            0, 1: some_input = $random & 'h7F;
            2: some_input = 'hC0 | $random & 'h1F;
            3: some_input = 'hE0 | $random & 'h0F;
            4: some_input = 'hF0 | $random & 'h07;
            5: some_input = ($random & 3) == 0 ? 'hED : 'hEF;
            6: some_input = 'hD700 + ($random & 'hFFF);
            7: some_input = $random & 'h1FFFFF;
            8: some_input = $random;
            9: some_input = 'hFFE0 | $random & 'h3F;
            10, 11, 12: some_input = 'hBE | $random & 1;
            default: some_input = 'h80 | $random & 'h3F;
        endcase
    endfunction

    integer cycle, slow, lane, tokens;
    initial begin
        tokens = 0;
        slow = 0;
        for (cycle = 0; cycle < 12000; cycle = cycle + 1) begin
            #5 clk = 1;
            if (m_valid && m_ready && !rst) tokens = tokens + 1;
            #1;  // the inputs change after the clock edge
            if (cycle % 64 == 0) slow = $random & 3;
            if (s_was_taken || !s_valid || rst) begin
                s_valid = !(slow & 1) || ($random & 3) == 0;
                s_last = ($random & 7) == 0;
                for (lane = 0; lane < `IN; lane = lane + 32) s_data = s_data << 32 | some_input(0);
`ifdef SPARSE
                s_keep = $random;
`elsif KEEP
                s_keep = s_last ? ~({`KEEP{1'b1}} << ($unsigned($random) % (`KEEP + 1)))
                                : {`KEEP{1'b1}};
`endif
            end
            m_ready = !(slow & 2) || ($random & 3) == 0;
            rst = cycle < 2 || ($random & 'h1FF) == 0;
            #4 clk = 0;
        end
        $display("%0d outputs", tokens);
        $finish;
    end

    reg s_was_taken = 0;
    always @(posedge clk) s_was_taken <= s_valid && s_ready && !rst;
endmodule
