// One run of a kernel table over one sentence, and the comparison of two tables: maxima bit for bit, sums to rounding.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>

#include "check.hpp"
#include "numeric/kernels/kernels.hpp"
#include "problems.hpp"

namespace kernel_cases {

using namespace arbora;
using problems::Kind;
using problems::Order;
using problems::Owned;

using Numbers = std::vector<double>;

// One sentence, and the memory of a run; both are the same for every table.
struct Case {
    const Owned& owned;
    Roots roots;
    Arena& arena;

    int n() const { return owned.n; }
    Square square() const { return Square(n()); }
    Diagonals layout() const { return {n(), roots == Roots::multi ? 0 : 1}; }
    Problem problem() const { return owned.problem(Trees::projective, roots); }
};

inline void put(Numbers& out, double value) { out.push_back(value); }
// Compared by logarithms: mantissas need not be normalized alike.
inline void put(Numbers& out, Extended value) { out.push_back(log(value)); }

inline double* checked_copy(const Kernels& k, const Case& c) {
    auto* copy = c.arena.take<double>(c.square().size());
    CHECK(k.copy_scores(c.owned.arcs.data(), c.square(), copy));
    return copy;
}

struct Program {
    const char* name;
    double tolerance;  // 0: bit for bit
    Numbers (*run)(const Kernels&, const Case&);
};

inline constexpr double kRounding = 1e-12;

inline bool agree(const Numbers& found, const Numbers& expected, double tolerance) {
    if (found.size() != expected.size()) return false;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const bool same = tolerance == 0.0 ? std::memcmp(&found[i], &expected[i], sizeof(double)) == 0
                                           : check::near(found[i], expected[i], tolerance);
        if (!same) return false;
    }
    return true;
}

template <class Programs>
void compare(const Programs& programs, const Owned& owned) {
    const Kernels& baseline = *kernels_named("baseline");
    Arena arena;
    for (const Roots roots : problems::kRoots) {
        for (const Program& program : programs) {
            const Case c{owned, roots, arena};
            arena.reset();
            program.run(baseline, c);  // so that there is memory to poison
            problems::poison(arena);
            const Numbers expected = program.run(baseline, c);
            for (const char* name : {"avx2", "avx512"}) {
                const Kernels* table = kernels_named(name);
                if (table == nullptr) continue;
                problems::poison(arena);
                if (agree(program.run(*table, c), expected, program.tolerance)) continue;
                check::fail(__FILE__, __LINE__, std::string(program.name) + " of " + name + " differs from baseline at n = " +
                                                    std::to_string(owned.n) + (roots == Roots::single ? ", single" : ", multi") + " root");
            }
        }
    }
}

inline constexpr int kLengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 33, 40};
inline constexpr Kind kKinds[] = {Kind::normal, Kind::ties, Kind::masked, Kind::wide};

// The longest take more time than all others together: test only one kind of scores for each.
inline bool is_asked(int n, Kind kind) { return n <= 20 || kind == (n == 33 ? Kind::normal : Kind::masked); }

}  // namespace kernel_cases
