#include <cstring>

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

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma");
}

// Not every compiler knows this name.
bool has_avxvnni() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return has_avx2() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & (1u << 4)) != 0;
}

}  // namespace
#endif

const Kernels* kernels_named(const char* name) {
#ifdef ARBORA_X86_KERNELS
    if (std::strcmp(name, "avx512") == 0) return has_avx512() ? &avx512::table : nullptr;
    if (std::strcmp(name, "avx2") == 0) return has_avx2() ? &avx2::table : nullptr;
#endif
    return std::strcmp(name, "baseline") == 0 ? &baseline::table : nullptr;
}

const QuantizedKernels* quantized_kernels_named(const char* name) {
#ifdef ARBORA_X86_KERNELS
    if (std::strcmp(name, "avx512vnni") == 0) return has_avx512() && __builtin_cpu_supports("avx512vnni") ? &int8_avx512vnni::quantized : nullptr;
    if (std::strcmp(name, "avxvnni") == 0) return has_avxvnni() ? &int8_avxvnni::quantized : nullptr;
    if (std::strcmp(name, "avx512") == 0) return has_avx512() ? &int8_avx512::quantized : nullptr;
    if (std::strcmp(name, "avx2") == 0) return has_avx2() ? &int8_avx2::quantized : nullptr;
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
