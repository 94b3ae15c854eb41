// A UART with its own clock, connected to the demo. Sends the bytes of bytes.hex without a gap, and
// prints the received bytes until the demo is no longer busy.
`timescale 1ns / 1ps

module serial_line;
    parameter CLOCK_HZ = 12000000;
    parameter BAUD = 115200.0;
    parameter COUNT = 1;

    real bit_time, half_cycle;
    reg clk, rx;
    wire tx, busy;
    reg [7:0] bytes [0:COUNT - 1];
    reg [7:0] received;
    integer index, sent, place;

    utf8_demo demo (.clk(clk), .rst(1'b0), .rx(rx), .tx(tx), .busy(busy));

    initial begin
        clk = 0;
        half_cycle = 0.5e9 / CLOCK_HZ;
        forever #(half_cycle) clk = ~clk;
    end

    initial begin
        $readmemh("bytes.hex", bytes);
        bit_time = 1.0e9 / BAUD;
        rx = 1;
        #(100000.7);  // wait for the board's reset
        for (index = 0; index < COUNT; index = index + 1) begin
            rx = 0;
            #(bit_time);
            for (sent = 0; sent < 8; sent = sent + 1) begin
                rx = bytes[index][sent];
                #(bit_time);
            end
            rx = 1;
            #(bit_time);
        end
        wait (!busy);
        #(30 * bit_time);
        if (busy)
            $display("busy again");
        $finish;
    end

    always begin
        @(negedge tx);
        #(1.5 * bit_time);
        for (place = 0; place < 8; place = place + 1) begin
            received[place] = tx;
            #(bit_time);
        end
        if (!tx)
            $display("no stop bit");
        $write("%c", received);
    end
endmodule
