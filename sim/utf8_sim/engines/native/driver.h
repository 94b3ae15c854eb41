// Drives a compiled design for a window of cycles: stimulus and trace are arrays of the caller.
//
// The file that includes this one defines before it
//
//   struct Model {
//       void settle(uint64_t value, bool valid, bool last, bool ready);  // before the clock edge
//       uint64_t s_tready(), m_tdata(), m_tuser(), m_tlast(), m_tvalid(), state();
//       void tick();                                                     // the clock edge
//   };
//
// and is compiled with VALUE, the type of the values offered. The rules are those of TestBench in engine.py.

#include <cstdint>
#include <new>

typedef VALUE Value;

#pragma GCC visibility push(default)
extern "C" {

void *model_create() { return new (std::nothrow) Model; }

void model_destroy(void *model) { delete static_cast<Model *>(model); }

// Simulates `cycles` cycles and returns how many of the `count` values were accepted. `offered` says
// whether the first of them was on offer already, and then whether the next one is.
uint64_t model_run(void *model, uint64_t cycles, const uint8_t *gaps, const uint8_t *stalls,
                   const Value *values, const uint8_t *lasts, uint64_t count, uint8_t *offered,
                   uint8_t *i_valid, Value *item, uint8_t *i_last, uint8_t *o_ready,
                   uint64_t *words, uint8_t *state) {
    Model &design = *static_cast<Model *>(model);
    const uint64_t highest = (uint64_t(1) << 48) - 1;  // tdata has 48 bits of a word
    const Value idle = 0xFF;
    uint64_t next = 0;
    bool offer = *offered;
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
        offer = next < count && (offer || !gaps[cycle]);
        const Value value = offer ? values[next] : idle;
        const bool last = offer ? lasts[next] : true;
        const bool ready = !stalls[cycle];
        design.settle(value, offer, last, ready);
        const uint64_t s_tready = design.s_tready();
        const uint64_t tdata = design.m_tdata();
        i_valid[cycle] = offer;
        item[cycle] = value;
        i_last[cycle] = last;
        o_ready[cycle] = ready;
        words[cycle] = (tdata < highest ? tdata : highest) | design.m_tuser() << 48 |
                       design.m_tlast() << 56 | design.m_tvalid() << 57 | s_tready << 58;
        state[cycle] = design.state();
        design.tick();
        if (offer && s_tready) {
            ++next;
            offer = false;
        }
    }
    *offered = offer;
    return next;
}

}  // extern "C"
#pragma GCC visibility pop
