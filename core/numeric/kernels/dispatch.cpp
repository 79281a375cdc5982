#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "numeric/kernels/kernels.hpp"
#include "numeric/quantized.hpp"

#ifdef ARBORA_X86_KERNELS
#include <cpuid.h>
#endif

namespace arbora {

namespace baseline { extern const Kernels table; }
namespace int8_baseline { extern const QuantizedKernels quantized; }
#ifdef ARBORA_X86_KERNELS
namespace avx2 { extern const Kernels table; }
namespace avx512 { extern const Kernels table; }
namespace int8_avx2 { extern const QuantizedKernels quantized; }
namespace int8_avxvnni { extern const QuantizedKernels quantized; }
namespace int8_avx512 { extern const QuantizedKernels quantized; }
namespace int8_avx512vnni { extern const QuantizedKernels quantized; }

namespace {

// What the processor has and the system saves. Not __builtin_cpu_supports: some compilers ship without the library behind it.
struct Processor {
    bool avx2 = false, avxvnni = false, avx512 = false, avx512vnni = false;

    Processor() {
        unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
        const auto ask = [&](unsigned leaf, unsigned part) { return __get_cpuid_count(leaf, part, &eax, &ebx, &ecx, &edx) != 0; };
        const auto all = [](unsigned value, std::initializer_list<int> bits) {
            return std::all_of(bits.begin(), bits.end(), [&](int bit) { return (value >> bit & 1u) != 0; });
        };
        const int fma = 12, xsave = 27, avx = 28;
        if (!ask(1, 0) || !all(ecx, {fma, xsave, avx})) return;
        unsigned saved = 0, high = 0;
        __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
        const bool saves_ymm = all(saved, {1, 2}), saves_zmm = saves_ymm && all(saved, {5, 6, 7});
        if (!ask(7, 0)) return;
        avx2 = saves_ymm && all(ebx, {5});
        const int f = 16, dq = 17, bw = 30, vl = 31;
        avx512 = avx2 && saves_zmm && all(ebx, {f, dq, bw, vl});
        avx512vnni = avx512 && all(ecx, {11});
        avxvnni = avx2 && ask(7, 1) && all(eax, {4});
    }
};

const Processor& processor() {
    static const Processor found;
    return found;
}

}  // namespace
#endif

const Kernels* kernels_named(const char* name) {
#ifdef ARBORA_X86_KERNELS
    if (std::strcmp(name, "avx512") == 0) return processor().avx512 ? &avx512::table : nullptr;
    if (std::strcmp(name, "avx2") == 0) return processor().avx2 ? &avx2::table : nullptr;
#endif
    return std::strcmp(name, "baseline") == 0 ? &baseline::table : nullptr;
}

const QuantizedKernels* quantized_kernels_named(const char* name) {
#ifdef ARBORA_X86_KERNELS
    if (std::strcmp(name, "avx512vnni") == 0) return processor().avx512vnni ? &int8_avx512vnni::quantized : nullptr;
    if (std::strcmp(name, "avxvnni") == 0) return processor().avxvnni ? &int8_avxvnni::quantized : nullptr;
    if (std::strcmp(name, "avx512") == 0) return processor().avx512 ? &int8_avx512::quantized : nullptr;
    if (std::strcmp(name, "avx2") == 0) return processor().avx2 ? &int8_avx2::quantized : nullptr;
#endif
    return std::strcmp(name, "baseline") == 0 ? &int8_baseline::quantized : nullptr;
}

const Kernels& kernels() {
    static const Kernels& best = [] () -> const Kernels& {
        for (const char* name : {"avx512", "avx2"})
            if (const Kernels* table = kernels_named(name)) return *table;
        return baseline::table;
    }();
    return best;
}

const QuantizedKernels& quantized_kernels() {
    static const QuantizedKernels& best = [] () -> const QuantizedKernels& {
        for (const char* name : {"avx512vnni", "avxvnni", "avx512", "avx2"})
            if (const QuantizedKernels* table = quantized_kernels_named(name)) return *table;
        return int8_baseline::quantized;
    }();
    return best;
}

}  // namespace arbora
