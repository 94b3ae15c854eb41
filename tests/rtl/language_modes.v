// A bench as a user might write it, for any language version. It prints every output of the design.
//
// Macros:
//   DUT              module
//   IN, OUT, USER    widths of its ports
//   COUNT            number of inputs in inputs.hex, each with `last` above its highest bit
//   VAR              type of variables: reg or logic
//   DECLARED         initialise variables in their declarations instead of an initial block
//   TIMESCALE        use a timescale
//   IDLE             value of data and `last` while the input is idle
//   UNDEFINED        an input that is x for some cycles with traffic, before one cycle of reset

`ifdef TIMESCALE
`timescale 1ns / 1ps
`endif

module bench;
`ifdef DECLARED
    `VAR clk = 0, rst = 1;
    `VAR [`IN-1:0] data = 0;
    `VAR valid = 0, last = 0, ready = 0;
`else
    `VAR clk, rst;
    `VAR [`IN-1:0] data;
    `VAR valid, last, ready;
    initial begin
        clk = 0;
        rst = 1;
        data = 0;
        valid = 0;
        last = 0;
        ready = 0;
    end
`endif
    wire s_ready, m_valid, m_last;
    wire [`OUT-1:0] m_data;
    wire [`USER-1:0] m_user;

    `DUT dut (
        .clk(clk), .rst(rst), .s_axis_tdata(data), .s_axis_tvalid(valid),
        .s_axis_tready(s_ready), .s_axis_tlast(last), .m_axis_tdata(m_data),
        .m_axis_tvalid(m_valid), .m_axis_tready(ready), .m_axis_tlast(m_last),
        .m_axis_tuser(m_user)
    );

    reg [`IN:0] inputs [0:`COUNT-1];
    integer next, cycle;

    always #5 clk = !clk;

    initial begin
        $readmemh("inputs.hex", inputs);
        repeat (2) @(negedge clk);
        rst = 0;
`ifdef UNDEFINED
        valid = 1;
        ready = 1;
        data = 'hE2;
        repeat (9) @(negedge clk);
        `UNDEFINED = 'bx;
        repeat (9) @(negedge clk);
        {rst, valid, last, ready} = 4'b1000;
        data = 0;
        @(negedge clk);
        rst = 0;
`endif
        next = 0;
        for (cycle = 0; cycle < 4 * `COUNT + 20; cycle = cycle + 1) begin
            // The producer pauses in every third cycle, unless an input is still offered, and the
            // consumer in every fourth.
            valid = next < `COUNT && (valid || cycle % 3 != 0);
            ready = cycle % 4 != 0;
            {last, data} = valid ? inputs[next] : {`IN+1{`IDLE}};
            #4;
            if (m_valid && ready) $display("%h %h %b", m_data, m_user, m_last);
            if (valid && s_ready) begin
                next = next + 1;
                @(posedge clk) #1 valid = 0;
            end
            @(negedge clk);
        end
        $finish;
    end
endmodule
