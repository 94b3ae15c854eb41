// Drives a design for windows of cycles, as driver.h does. Standard input has for each window how
// many cycles (4 bytes) and how many items (4 bytes, of which the highest bit says that the window is
// exact); a byte a cycle (bit 0: nothing is offered, bit 1: nothing is taken, bit 2: reset, bit 3:
// the payload stays if nothing is offered); for each cycle the fields if nothing is offered, and for
// each item its fields, 8 bytes each. Standard output gets a line a cycle. Every number is
// big-endian. Items that were not accepted come again with the next window.
//
// The generated ports.vh declares the design `dut`, with its handshake in valid, ready and s_tready
// and its payload in `fields`, and the task `show`, which prints all pins.

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
