// A recurrent layer over a whole sequence: what the compiled core hands to the kernels of family "recurrent".
#pragma once
#include <stdint.h>

namespace clay {

// The data of all steps lie one after the other, a row for each sequence that is still running; step k has the rows
// first[k] .. first[k] + size[k], in the order in which steps are taken. States have a row for each of `batch` sequences.
// H is the width of a state, G the number of gates. All blocks are contiguous.
struct Sequence {
    const int64_t *first, *size;
    int64_t steps, batch, width;
    int64_t features;     // F, the width of an input
    const void* x;        // (rows, F): forward, the inputs,
    const void* x_weight; // (G H, F): what they are multiplied by,
    const void* x_bias;   // (G H): and what is added; or null
    void* gates;          // (rows, G H): forward makes the inputs' part, then the gates; RNN: out; GRU: the h part of n as a fourth
    void* out;            // (rows, H)
    void* cells;          // (rows, H), LSTM
    void *h, *c;          // (batch, H): the states, or their gradients; first those at the start of the loop, then at its end
    const void* weight;   // (G H, H)
    const void* bias;     // (G H): GRU forward, that of the h part, or null; all others are in x_bias
    void* scratch;        // (batch, G H), GRU
    const void* start;    // (batch, H): backward, the state that the sequence began with, of h (GRU) or c (LSTM)
    const void* g_out;    // (rows, H): backward, the gradient of out, or null
    void* g_gates;           // (rows, G H): backward, the gradient of the gates; GRU: of the h part
    void* beside;         // (rows, H): backward, GRU: the gradient of the x part of n
    int relu;
};

using sequence_fn = void (*)(const Sequence* sequence);

}  // namespace clay
