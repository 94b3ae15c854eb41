// Drives a design for windows of cycles, like driver.h. For each window, standard input has:
//   4 bytes: the number of cycles
//   4 bytes: the number of items; the highest bit is set if the window is exact
//   1 byte for each cycle: bit 0 producer stalls, bit 1 consumer stalls, bit 2 reset, bit 3 the
//     payload does not change if the cycle is idle
//   8 bytes for each field of each cycle: the payload if the cycle is idle
//   8 bytes for each field of each item
// All numbers are big-endian. Standard output gets a line for each cycle. Items that were not
// accepted are sent again with the next window.
//
// The generated ports.vh instantiates the design as `dut`, with its handshake in valid, ready and
// s_tready and its payload in `fields`. It defines the task `show`, which prints all pins.

`timescale 1ns / 1ns

module bench;
    reg clk = 0;
    reg rst = 0;
    reg valid = 0;
    reg ready = 0;
    reg [`ITEM_BITS-1:0] fields = 0;
    wire s_tready;

    `include "ports.vh"

    integer in, got, cycle, next;
    reg [63:0] header;
    reg [7:0] plan [0:`WINDOW-1];
    reg [`ITEM_BITS-1:0] idle [0:`WINDOW-1];
    reg [`ITEM_BITS-1:0] items [0:`WINDOW-1];
    reg took;

    initial begin
        in = $fopen("/dev/stdin", "rb");
        got = $fread(header, in);
        while (got == 8) begin
            got = $fread(plan, in, 0, header[63:32]);
            got = $fread(idle, in, 0, header[63:32]);
            if (header[30:0]) got = $fread(items, in, 0, header[30:0]);
            next = 0;
            for (cycle = 0; cycle < header[63:32]; cycle = cycle + 1) begin
                valid = next < header[30:0] && (valid || !plan[cycle][0]);
                if (valid) fields = items[next];
                else if (!plan[cycle][3]) fields = idle[cycle];
                ready = !plan[cycle][1];
                rst = plan[cycle][2];
                #5;
                show;
                took = valid && s_tready && !rst;
                clk = 1;
                #5 clk = 0;
                if (took || header[31]) begin
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
