// Drives a design for windows of cycles, as driver.h does. Standard input has for each window how
// many cycles and how many values (4 bytes each), a byte a cycle (bit 0: nothing is offered, bit 1:
// nothing is taken) and 9 bytes a value (last, then the value). Standard output gets a line a cycle.
// Every number is big-endian. Values that were not accepted come again with the next window.

`timescale 1ns / 1ns

module bench;
    reg clk = 0;
    reg rst = 0;
    reg [`VALUE_BITS-1:0] value = 0;
    reg valid = 0;
    reg last = 0;
    reg ready = 0;
    wire s_tready;
    wire [`TDATA_BITS-1:0] m_tdata;
    wire m_tvalid;
    wire m_tlast;
    wire [`TUSER_BITS-1:0] m_tuser;

    `DESIGN dut (
        .clk(clk),
        .rst(rst),
        .s_axis_tdata(value),
        .s_axis_tvalid(valid),
        .s_axis_tready(s_tready),
        .s_axis_tlast(last),
        .m_axis_tdata(m_tdata),
        .m_axis_tvalid(m_tvalid),
        .m_axis_tready(ready),
        .m_axis_tlast(m_tlast),
        .m_axis_tuser(m_tuser)
    );

    integer in, got, cycle, next;
    reg [63:0] header;
    reg [7:0] plan [0:`WINDOW-1];
    reg [71:0] items [0:`WINDOW-1];
    reg [71:0] item;
    reg took;

    initial begin
        in = $fopen("/dev/stdin", "rb");
        got = $fread(header, in);
        while (got == 8) begin
            got = $fread(plan, in, 0, header[63:32]);
            if (header[31:0]) got = $fread(items, in, 0, header[31:0]);
            next = 0;
            for (cycle = 0; cycle < header[63:32]; cycle = cycle + 1) begin
                valid = next < header[31:0] && (valid || !plan[cycle][0]);
                item = valid ? items[next] : 72'h01_0000_0000_0000_00FF;
                value = item[63:0];
                last = item[64];
                ready = !plan[cycle][1];
                #5;
                $display("%h %h %h %h %h %h %h %h %h %h", valid, value, last, ready, s_tready,
                         m_tvalid, m_tdata, m_tuser, m_tlast, dut.state);
                took = valid && s_tready;
                clk = 1;
                #5 clk = 0;
                if (took) begin
                    next = next + 1;
                    valid = 0;
                end
            end
            $fflush;
            got = $fread(header, in);
        end
        $finish(0);
    end
endmodule
