// The Amaranth design, as C++ by write_cxxrtl (design.h), for driver.h.

#include "design.h"

template <size_t bits> static uint64_t level(const value<bits> &signal) {
    uint64_t all = 0;
    for (size_t chunk = 0; chunk < value<bits>::chunks; ++chunk)
        all |= uint64_t(signal.data[chunk]) << 32 * chunk;
    return all;
}

template <size_t bits> static uint64_t level(const wire<bits> &signal) {
    return level(signal.curr);
}

template <size_t bits> static void set(value<bits> &signal, uint64_t to) {
    for (size_t chunk = 0; chunk < value<bits>::chunks; ++chunk)
        signal.data[chunk] = uint32_t(to >> 32 * chunk);
}

struct Model {
    cxxrtl_design::p_top top;

    void settle(uint64_t value, bool valid, bool last, bool ready) {
        set(top.p_s__axis__tdata, value);
        set(top.p_s__axis__tvalid, valid);
        set(top.p_s__axis__tlast, last);
        set(top.p_m__axis__tready, ready);
        // With a rising clock, eval() computes both the outputs before the edge and what the
        // registers become, which commit() makes true: one evaluation a cycle.
        set(top.prev_p_clk, 0);
        set(top.p_clk, 1);
        top.cxxrtl_design::p_top::eval();
    }

    void tick() {
        observer nobody;
        top.cxxrtl_design::p_top::commit<>(nobody);
    }

    uint64_t s_tready() { return level(top.p_s__axis__tready); }
    uint64_t m_tdata() { return level(top.p_m__axis__tdata); }
    uint64_t m_tuser() { return level(top.p_m__axis__tuser); }
    uint64_t m_tlast() { return level(top.p_m__axis__tlast); }
    uint64_t m_tvalid() { return level(top.p_m__axis__tvalid); }
    uint64_t state() { return level(top.p_state); }
};

#include "driver.h"

#ifdef MUTANTS
// Which of the mutants in the design is alive; none is with 0.
extern "C" __attribute__((visibility("default"))) void model_choose(void *model, uint64_t mutant) {
    set(static_cast<Model *>(model)->top.p_mutant, mutant);
}
#endif
