// Inlined without exception. Whatever the kernels use must be: they are compiled once per instruction set, and an outlined
// copy of a shared function would be one symbol, whose newest-CPU version the linker might keep.
#pragma once

#define ARBORA_INLINE [[gnu::always_inline]]
