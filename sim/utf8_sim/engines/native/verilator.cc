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

    void settle() {
        top.clk = 0;
        top.eval();
    }

    void tick() {
        top.clk = 1;
        top.eval();
    }
};

// Some bits of a port, and levels for some bits of a port whose other bits stay. A port has one
// word, or as many of 32 bits as it needs.
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
