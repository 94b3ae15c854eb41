// The same design with both namings of clock and reset, side by side: module `high` has clk and rst,
// module `low` has aclk and aresetn. Both get the same random bytes and stalls, and a reset in one
// cycle of 16, at any moment. Their output pins must never differ.
//
// DATA_IN, DATA_OUT and USER are the widths of the ports, as macros.

`timescale 1ns / 1ns

module reset_polarity;
    reg clk = 0;
    reg rst = 1;
    reg [`DATA_IN-1:0] data = 0;
    reg valid = 0, last = 0, ready = 0;
    wire [`DATA_OUT-1:0] high_data, low_data;
    wire [`USER-1:0] high_user, low_user;
    wire high_ready, high_valid, high_last, low_ready, low_valid, low_last;

    high high_design (
        .clk(clk), .rst(rst), .s_axis_tdata(data), .s_axis_tvalid(valid),
        .s_axis_tready(high_ready), .s_axis_tlast(last), .m_axis_tdata(high_data),
        .m_axis_tvalid(high_valid), .m_axis_tready(ready), .m_axis_tlast(high_last),
        .m_axis_tuser(high_user)
    );
    low low_design (
        .aclk(clk), .aresetn(!rst), .s_axis_tdata(data), .s_axis_tvalid(valid),
        .s_axis_tready(low_ready), .s_axis_tlast(last), .m_axis_tdata(low_data),
        .m_axis_tvalid(low_valid), .m_axis_tready(ready), .m_axis_tlast(low_last),
        .m_axis_tuser(low_user)
    );

    wire [`DATA_OUT+`USER+2:0] high_pins = {high_ready, high_valid, high_last, high_user, high_data};
    wire [`DATA_OUT+`USER+2:0] low_pins = {low_ready, low_valid, low_last, low_user, low_data};

    integer cycle, seed = 1, taken = 0, dropped = 0;

    initial begin
        for (cycle = 0; cycle < 20000; cycle = cycle + 1) begin
            #5;
            if (high_pins !== low_pins) begin
                $display("FAIL in cycle %0d: %h and %h", cycle, high_pins, low_pins);
                $finish;
            end
            if (high_valid && ready && !rst) taken = taken + 1;
            if (high_valid && rst) dropped = dropped + 1;
            clk = 1;
            #5 clk = 0;
            // Code points of all lengths; or bytes, half of them continuation bytes.
            data = {$random(seed), $random(seed)};
            if (`DATA_IN > 8) data = data >> ($random(seed) & (`DATA_IN - 1));
            else if ($random(seed) & 1) data[7:6] = 2;
            valid = $random(seed);
            last = ($random(seed) & 7) == 0;
            ready = $random(seed);
            rst = ($random(seed) & 15) == 0;
        end
        $display("PASS %0d outputs taken, %0d dropped by a reset", taken, dropped);
        $finish;
    end
endmodule
