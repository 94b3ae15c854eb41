// A hand-written Verilator loop for the decoder's Verilog. Drives the bytes of a file at full rate,
// counts the tokens and adds up their code points, without recording them. Ends DRAIN cycles after
// the last byte.
//
// Prints cycles, seconds, tokens and the sum of their code points.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "Vutf8_decoder.h"
#include "verilated.h"

static void cycle(Vutf8_decoder &top) {
    top.clk = 1;
    top.eval();
    top.clk = 0;
    top.eval();
}

static void reset(Vutf8_decoder &top) {
    top.clk = 0;
    top.rst = 1;
    top.s_axis_tvalid = 0;
    top.m_axis_tready = 1;
    top.eval();
    cycle(top);
    cycle(top);
    top.rst = 0;
}

int main(int argc, char **argv) {
    std::ifstream file(argc > 1 ? argv[1] : "", std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "usage: verilator_loop FILE\n");
        return 2;
    }
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    VerilatedContext context;
    Vutf8_decoder top(&context);
    reset(top);

    uint64_t cycles = 0, tokens = 0, sum = 0;
    size_t next = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (int drain = DRAIN; drain > 0; ++cycles) {
        const bool offered = next < bytes.size();
        top.s_axis_tvalid = offered;
        top.s_axis_tdata = offered ? uint8_t(bytes[next]) : 0;
        top.s_axis_tlast = next + 1 == bytes.size();
        top.clk = 0;
        top.eval();
        if (top.m_axis_tvalid) {
            ++tokens;
            sum += top.m_axis_tdata;
        }
        if (!offered)
            --drain;
        else if (top.s_axis_tready)
            ++next;
        top.clk = 1;
        top.eval();
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    std::printf("%llu %.9f %llu %llu\n", (unsigned long long)cycles, elapsed.count(),
                (unsigned long long)tokens, (unsigned long long)sum);
    return 0;
}
