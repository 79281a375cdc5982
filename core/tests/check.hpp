// A minimal test framework: TEST(name) { CHECK(...); } registers itself; main.cpp runs all tests.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace check {

struct Case {
    std::string name;
    std::function<void()> body;
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

inline int& failures() {
    static int count = 0;
    return count;
}

struct Register {
    Register(const char* name, std::function<void()> body) { cases().push_back({name, std::move(body)}); }
};

inline void fail(const char* file, int line, const std::string& what) {
    ++failures();
    std::printf("%s:%d: %s\n", file, line, what.c_str());
}

inline bool near(double a, double b, double tolerance) {
    return a == b || std::abs(a - b) <= tolerance * (1.0 + std::abs(a) + std::abs(b));
}

}  // namespace check

#define TEST(name)                                                 \
    static void test_##name();                                     \
    static const check::Register register_##name(#name, test_##name); \
    static void test_##name()

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) check::fail(__FILE__, __LINE__, "failed: " #condition); \
    } while (false)

#define CHECK_NEAR(a, b, tolerance)                                                                           \
    do {                                                                                                      \
        const double check_a = (a), check_b = (b);                                                            \
        if (!check::near(check_a, check_b, tolerance))                                                        \
            check::fail(__FILE__, __LINE__,                                                                   \
                        #a " is " + std::to_string(check_a) + ", expected " + std::to_string(check_b));       \
    } while (false)
