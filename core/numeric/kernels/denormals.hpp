// Flushes denormal numbers to zero while in scope, on processors that support it. Lanes without a span compute on leftover values,
// and shares of negligible items underflow; denormal operands would cost a hundred cycles per operation without changing results.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace arbora {

class FlushDenormals {
public:
#if defined(__SSE2__)
    FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero); }
    ~FlushDenormals() { _mm_setcsr(before_); }

private:
    static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    unsigned before_;

public:
#else
    FlushDenormals() {}
    ~FlushDenormals() {}
#endif
    FlushDenormals(const FlushDenormals&) = delete;
    FlushDenormals& operator=(const FlushDenormals&) = delete;
};

}  // namespace arbora
