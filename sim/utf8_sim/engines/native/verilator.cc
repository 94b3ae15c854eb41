// The generated Verilog, as C++ by Verilator, for driver.h.

#include "Vdesign.h"
#include "Vdesign___024root.h"
#include "verilated.h"

// Without Verilator's pool of threads, which one small design has no use for.
struct Context : VerilatedContext {
    Context() { threads(1); }
};

struct Model {
    Context context;
    Vdesign top{&context};

    // The end of `top` asks for the context of the thread, which may be that of another model.
    ~Model() { Verilated::threadContextp(&context); }

    void settle(uint64_t value, bool valid, bool last, bool ready) {
        top.s_axis_tdata = value;
        top.s_axis_tvalid = valid;
        top.s_axis_tlast = last;
        top.m_axis_tready = ready;
        top.rst = 0;
        top.clk = 0;
        top.eval();
    }

    void tick() {
        top.clk = 1;
        top.eval();
    }

    uint64_t s_tready() { return top.s_axis_tready; }
    uint64_t m_tdata() { return top.m_axis_tdata; }
    uint64_t m_tuser() { return top.m_axis_tuser; }
    uint64_t m_tlast() { return top.m_axis_tlast; }
    uint64_t m_tvalid() { return top.m_axis_tvalid; }
    uint64_t state() { return top.rootp->STATE; }
};

#include "driver.h"
