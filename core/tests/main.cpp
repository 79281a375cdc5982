// Runs every registered test, or those whose name contains the first argument.
#include <cstdio>
#include <cstring>

#include "check.hpp"

// The hook of the fuzzing driver (see CMakeLists.txt), which tests do not use.
extern "C" void __sanitizer_cov_trace_pc() {}

int main(int argc, char** argv) {
    const char* wanted = argc > 1 ? argv[1] : "";
    int passed = 0, failed = 0;
    for (const auto& test : check::cases()) {
        if (std::strstr(test.name.c_str(), wanted) == nullptr) continue;
        const int before = check::failures();
        test.body();
        if (check::failures() == before) {
            ++passed;
        } else {
            ++failed;
            std::printf("FAILED %s\n", test.name.c_str());
        }
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
