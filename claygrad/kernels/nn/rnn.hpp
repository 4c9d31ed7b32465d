// Arguments of the kernels of recurrent layers (family "recurrent"): a layer over a whole sequence.
#pragma once
#include <stdint.h>

namespace clay {

// The data of the steps follow each other, with a row for each sequence that has not ended: step k has the rows first[k] to
// first[k] + size[k]. k counts the steps in the order in which they are computed. States have a row for each of `batch` sequences.
// H is the size of a state, G the number of gates. All blocks are contiguous.
struct Sequence {
    const int64_t *first, *size;
    int64_t steps, batch, width;
    int64_t features;     // F, the width of an input
    const void* x;        // (rows, F): the inputs; forward only, like the next two
    const void* x_weight; // (G H, F): the weight of the inputs
    const void* x_bias;   // (G H): the bias, or null
    void* gates;          // (rows, G H): the gates, computed by forward; RNN: out; GRU: a fourth one, the part of gate n that comes from h
    void* out;            // (rows, H)
    void* cells;          // (rows, H), LSTM
    void *h, *c;          // (batch, H): the states or their gradients: before the first step on entry, after the last on return
    const void* weight;   // (G H, H)
    const void* bias;     // (G H): GRU forward: the bias of the part that comes from h, or null; all other biases are in x_bias
    void* scratch;        // (batch, G H), GRU
    const void* start;    // (batch, H): backward: the initial state h (GRU) or c (LSTM)
    const void* g_out;    // (rows, H): backward: the gradient of out, or null
    void* g_gates;        // (rows, G H): backward: the gradient of the gates; GRU: of their part that comes from h
    void* beside;         // (rows, H): backward of GRU: the gradient of the part of gate n that comes from x
    int relu;
};

using sequence_fn = void (*)(const Sequence* sequence);

}  // namespace clay
