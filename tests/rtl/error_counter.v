// Feeds bytes.hex to a VHDL design that GHDL has converted to Verilog, and prints its error count.

module bench;
    reg clk = 0, rst = 1, valid = 0;
    reg [7:0] bytes [0:`COUNT-1];
    integer next = 0;
    wire ready;
    wire [7:0] errors;

    `TOP dut (
        .clk(clk), .rst(rst), .data(bytes[next]), .data_valid(valid), .data_ready(ready),
        .errors(errors)
    );

    always #5 clk = !clk;

    initial begin
        $readmemh("bytes.hex", bytes);
        repeat (2) @(negedge clk);
        rst = 0;
        valid = 1;
        while (next < `COUNT) begin
            #4 if (ready) @(posedge clk) #1 next = next + 1;
            @(negedge clk);
        end
        valid = 0;
        repeat (10) @(negedge clk);
        $display("%0d errors", errors);
        $finish;
    end
endmodule
