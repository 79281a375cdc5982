// Always inlined. Every function that kernels call needs this: kernels are compiled once per instruction set, and an outlined copy
// of a shared function would be one symbol, for which the linker might keep the version of the newest CPU.
#pragma once

#define ARBORA_INLINE [[gnu::always_inline]]
