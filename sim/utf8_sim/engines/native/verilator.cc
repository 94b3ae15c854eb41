// Model for driver.h: the generated Verilog as C++ from Verilator.

#include "Vdesign.h"
#include "Vdesign___024root.h"
#include "verilated.h"

// One thread: a small design does not need Verilator's thread pool.
struct Context : VerilatedContext {
    Context() { threads(1); }
};

struct Model {
    Context context;
    Vdesign top{&context};

    // The destructor of `top` uses the context of the thread, which may belong to another model.
    ~Model() { Verilated::threadContextp(&context); }

    void settle() {
        top.clk = 0;
        top.eval();
    }

    void tick() {
        top.clk = 1;
        top.eval();
    }
};

// get: read some bits of a port. set: write some bits of a port; its other bits do not change. A
// port is a single word, or an array of 32-bit words.
template <size_t lowest, size_t width, typename Word> static uint64_t get(const Word &port) {
    const uint64_t level = uint64_t(port) >> lowest;
    return width < 64 ? level & ((uint64_t(1) << (width & 63)) - 1) : level;
}

template <size_t lowest, size_t width, size_t words>
static uint64_t get(const VlWide<words> &port) {
    uint64_t level = 0;
    for (size_t bit = 0; bit < width; ++bit)
        level |= uint64_t(port[(lowest + bit) / 32] >> (lowest + bit) % 32 & 1) << bit;
    return level;
}

template <size_t lowest, size_t width, typename Word> static void set(Word &port, uint64_t level) {
    const uint64_t mask = (width < 64 ? (uint64_t(1) << (width & 63)) - 1 : ~uint64_t(0)) << lowest;
    port = Word((uint64_t(port) & ~mask) | (level << lowest & mask));
}

template <size_t lowest, size_t width, size_t words>
static void set(VlWide<words> &port, uint64_t level) {
    for (size_t bit = 0; bit < width; ++bit) {
        const size_t at = lowest + bit;
        port[at / 32] = (port[at / 32] & ~(1u << at % 32)) | uint32_t(level >> bit & 1) << at % 32;
    }
}

#include "driver.h"
