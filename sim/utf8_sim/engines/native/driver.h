// Drives a compiled design for a window of cycles. The caller owns the columns of both stimulus and
// trace.
//
// The file that includes this one first defines
//
//   struct Model {
//       void settle();  // before the clock edge
//       void tick();    // the clock edge
//   };
//
// The generated ports.h defines, for the pins of the design:
//
//   void drive(Model &, bool reset, bool valid, bool ready);   // the handshake
//   void drive_item(Model &, void *const *items, size_t row);  // the payload
//   bool accepts(Model &);                                     // i.ready
//   void record(Model &, void *const *columns, size_t row);    // all pins
//
// Plan and Simulation in engine.py define the rules.

#include <cstddef>
#include <cstdint>
#include <new>

#include "ports.h"

#pragma GCC visibility push(default)
extern "C" {

void *model_create() { return new (std::nothrow) Model; }

void model_destroy(void *model) { delete static_cast<Model *>(model); }

// Simulates `cycles` cycles and returns how many of the `count` items were accepted. `offered` is 1
// if the first item was already offered before the call; it is set to 1 if the next item is offered
// but not accepted.
uint64_t model_run(void *model, uint64_t cycles, const uint8_t *gaps, const uint8_t *stalls,
                   const uint8_t *resets, void *const *items, uint64_t count, void *const *idle,
                   const int32_t *idle_rows, uint32_t exact, uint8_t *offered,
                   void *const *columns) {
    Model &design = *static_cast<Model *>(model);
    uint64_t next = 0;
    bool offer = *offered;
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
        offer = next < count && (offer || !gaps[cycle]);
        if (offer)
            drive_item(design, items, next);
        else if (idle_rows[cycle] >= 0)
            drive_item(design, idle, idle_rows[cycle]);
        drive(design, resets[cycle], offer, !stalls[cycle]);
        design.settle();
        record(design, columns, cycle);
        const bool accepted = offer && !resets[cycle] && accepts(design);
        design.tick();
        if (accepted || exact) {
            ++next;
            offer = false;
        }
    }
    *offered = offer;
    return next;
}

}  // extern "C"
#pragma GCC visibility pop
