// A right core, and faults around it: each breaks a rule of `utf8-hdl conform` that every component
// has. The fault is the number in the file `bug` of the current folder; without the file it is BUG.
//
// Macros before this file give the core and the widths of its ports: CORE, I_DATA, O_DATA, O_USER,
// and with lanes I_KEEP and O_KEEP.

module wrong_stream #(
    parameter BUG = 0
) (
    input clk,
    input rst,
    input [`I_DATA-1:0] s_axis_tdata,
`ifdef I_KEEP
    input [`I_KEEP-1:0] s_axis_tkeep,
    output [`O_KEEP-1:0] m_axis_tkeep,
`endif
    input s_axis_tvalid,
    output s_axis_tready,
    input s_axis_tlast,
    output [`O_DATA-1:0] m_axis_tdata,
    output m_axis_tvalid,
    input m_axis_tready,
    output m_axis_tlast,
    output [`O_USER-1:0] m_axis_tuser
);

    localparam GAPS = 1, STALLS = 2, STABLE = 3, VALID_FIRST = 4, HANG = 5, RATE = 6;
    localparam RATE_HOSTILE = 7, RESET = 8, QUIET = 9, DEFINED = 10, LAST = 11;

    integer bug, file, found;
    initial begin
        bug = BUG;
        file = $fopen("bug", "r");
        if (file != 0) begin
            found = $fscanf(file, "%d", bug);
            $fclose(file);
        end
    end

    reg ran = 0;  // an input was accepted since reset
    reg gap = 0;  // then there was a cycle without one
    reg stalled = 0;  // the output now was not taken at once
    reg late = 0;  // the one before it was not
    reg stopped = 0;
    reg fresh = 0;
    reg [3:0] pause = 0;
    reg never;

    wire i_ready, o_valid, o_last;
    wire open = !stopped && pause == 0;
    wire accepts = s_axis_tvalid && s_axis_tready;
    wire gives = m_axis_tvalid && m_axis_tready;

    `CORE core (
        .clk(clk),
        .rst(rst && !(bug == RESET && ran)),
        .s_axis_tdata(s_axis_tdata ^ (bug == GAPS && gap)),
        .s_axis_tvalid(s_axis_tvalid && open),
        .s_axis_tready(i_ready),
        .s_axis_tlast(s_axis_tlast),
        .m_axis_tdata(m_axis_tdata),
        .m_axis_tvalid(o_valid),
        .m_axis_tready(m_axis_tready),
        .m_axis_tlast(o_last),
`ifdef I_KEEP
        .s_axis_tkeep(s_axis_tkeep),
        .m_axis_tkeep(m_axis_tkeep),
`endif
        .m_axis_tuser(m_axis_tuser)
    );

    wire flip = bug == STALLS && late || bug == STABLE && !m_axis_tready;
    assign s_axis_tready = i_ready && open;
    assign m_axis_tvalid = (o_valid || bug == QUIET && fresh)
                           && !(bug == VALID_FIRST && !m_axis_tready);
    assign m_axis_tlast = (o_last && bug != LAST) ^ flip ^ (bug == DEFINED && never);

    always @(posedge clk) begin
        fresh <= rst;
        if (rst && bug != RESET) ran <= 0;
        else if (accepts) ran <= 1;
        gap <= !rst && (accepts ? 0 : gap || ran && !s_axis_tvalid);
        stalled <= !rst && m_axis_tvalid && !m_axis_tready;
        if (rst) late <= 0;
        else if (gives) late <= stalled;
        if (rst) stopped <= 0;
        else if (bug == HANG && accepts && s_axis_tdata[7:0] == 8'hFF) stopped <= 1;
        if (rst) pause <= 0;
        else if (pause != 0) pause <= pause - 1;
        else if (accepts && bug == RATE) pause <= 3;
        else if (accepts && bug == RATE_HOSTILE && s_axis_tlast) pause <= 15;
    end
endmodule
