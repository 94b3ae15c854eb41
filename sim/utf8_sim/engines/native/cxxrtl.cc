// Model for driver.h: the design as C++ from write_cxxrtl (design.h).

#include <cstdio>
#include <cstdlib>

#include "design.h"

struct Model {
    cxxrtl_design::p_top top;

    void settle() {
#if SETTLES
        // At a rising clock edge, eval() computes the outputs before the edge and the next values
        // of the registers, which commit() stores. One evaluation per cycle is enough.
        rise();
#else
        // First settle wires that depend on themselves, such as a port with one bit assigned from
        // another.
        top.prev_p_clk.data[0] = top.p_clk.data[0] = 0;
        int rounds = 0;
        do {
            if (++rounds > 1000) {
                std::fputs("Error: the outputs do not settle: a combinational loop\n", stderr);
                std::abort();
            }
            top.cxxrtl_design::p_top::eval();
        } while (commit());
#endif
    }

    void tick() {
#if !SETTLES
        rise();
#endif
        commit();
    }

    void rise() {
        top.prev_p_clk.data[0] = 0;
        top.p_clk.data[0] = 1;
        top.cxxrtl_design::p_top::eval();
    }

    bool commit() {
        observer nobody;
        return top.cxxrtl_design::p_top::commit<>(nobody);
    }
};

// get: read some bits of a port. set: write some bits of a port; its other bits do not change.
template <size_t lowest, size_t width, size_t bits> static uint64_t get(const value<bits> &port) {
    uint64_t level = 0;
    for (size_t chunk = lowest / 32; 32 * chunk < lowest + width; ++chunk)
        level |= 32 * chunk < lowest ? uint64_t(port.data[chunk]) >> (lowest - 32 * chunk)
                                     : uint64_t(port.data[chunk]) << (32 * chunk - lowest);
    return width < 64 ? level & ((uint64_t(1) << (width & 63)) - 1) : level;
}

template <size_t lowest, size_t width, size_t bits> static uint64_t get(const wire<bits> &port) {
    return get<lowest, width>(port.curr);
}

template <size_t lowest, size_t width, size_t bits>
static void set(value<bits> &port, uint64_t level) {
    const uint64_t mask = width < 64 ? (uint64_t(1) << (width & 63)) - 1 : ~uint64_t(0);
    for (size_t chunk = lowest / 32; 32 * chunk < lowest + width; ++chunk) {
        const bool first = 32 * chunk < lowest;
        const size_t shift = first ? lowest - 32 * chunk : 32 * chunk - lowest;
        const uint32_t ones = uint32_t(first ? mask << shift : mask >> shift);
        const uint32_t part = uint32_t(first ? level << shift : level >> shift);
        port.data[chunk] = (port.data[chunk] & ~ones) | (part & ones);
    }
}

#include "driver.h"

#ifdef MUTANTS
// Select the active mutant of the design; 0 selects none.
extern "C" __attribute__((visibility("default"))) void model_choose(void *model, uint64_t mutant) {
    auto &port = static_cast<Model *>(model)->top.p_mutant;
    set<0, MUTANTS>(port, mutant);
}
#endif
