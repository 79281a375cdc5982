#include <cstring>

#include "numeric/kernels/kernels.hpp"

namespace arbora {

namespace baseline { extern const Kernels table; }
#ifdef ARBORA_X86_KERNELS
namespace avx2 { extern const Kernels table; }
namespace avx512 { extern const Kernels table; }
#endif

const Kernels* kernels_named(const char* name) {
#ifdef ARBORA_X86_KERNELS
    if (std::strcmp(name, "avx512") == 0) {
        const bool there = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
        return there && __builtin_cpu_supports("fma") ? &avx512::table : nullptr;
    }
    if (std::strcmp(name, "avx2") == 0) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2::table : nullptr;
#endif
    return std::strcmp(name, "baseline") == 0 ? &baseline::table : nullptr;
}

const Kernels& kernels() {
    static const Kernels& best = [] () -> const Kernels& {
        for (const char* name : {"avx512", "avx2"})
            if (const Kernels* table = kernels_named(name)) return *table;
        return baseline::table;
    }();
    return best;
}

}  // namespace arbora
