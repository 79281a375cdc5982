// The kernels that copy and check scores, and those of non-projective trees, on every instruction set of this CPU.
#include "kernel_cases.hpp"

namespace kernels_tests {

using namespace kernel_cases;

namespace {

// The cells of an array within the sentence.
Numbers inside(const double* cells, Square q) {
    Numbers out;
    for (int i = 0; i <= q.n; ++i) out.insert(out.end(), cells + q.line(i), cells + q.line(i) + q.n + 1);
    return out;
}

Numbers copied(const Kernels& k, const Case& c) {
    Numbers out = inside(checked_copy(k, c), c.square());
    const Diagonals d = c.layout();
    Numbers right(d.size()), left(d.size());
    CHECK(k.copy_diagonals(c.owned.arcs.data(), d, right.data(), left.data()));
    for (int s = d.first; s <= d.n; ++s) {
        for (int t = s + 1; t <= d.n; ++t) {
            put(out, right[d.cell(s, t)]);
            put(out, left[d.cell(s, t)]);
        }
    }
    return out;
}

Numbers exponentiated(const Kernels& k, const Case& c) {
    const double* scores = checked_copy(k, c);
    const LogPlane plane = take_plane<LogPlane>(c.arena, c.square().size());
    k.exponentiate(scores, plane, c.square().size());
    Numbers out;
    for (int i = 0; i <= c.n(); ++i) {
        for (int j = 0; j <= c.n(); ++j) put(out, plane.at(c.square().cell(i, j)));
    }
    return out;
}

// column_best, largest_magnitude, transpose, line_best, line_merge, line_merge_two.
Numbers branching(const Kernels& k, const Case& c) {
    const Square q = c.square();
    const double* scores = checked_copy(k, c);
    Numbers best(q.stride), row(q.stride), entering(q.size(), -problems::kInf);
    k.column_best(scores, q, c.roots == Roots::multi ? 0 : 1, best.data(), row.data());
    Numbers out(best.begin(), best.begin() + q.n + 1);
    for (int d = 1; d <= q.n; ++d) put(out, best[d] > -problems::kInf ? row[d] : 0.0);
    put(out, k.largest_magnitude(scores, q));
    k.transpose(scores, q, entering.data());
    const Numbers transposed = inside(entering.data(), q);
    out.insert(out.end(), transposed.begin(), transposed.end());
    for (int d = 1; d <= q.n; ++d) {
        double value = 0.0;
        put(out, k.line_best(entering.data() + q.line(d), q.n + 1, &value));
        put(out, value);
    }
    Numbers into(entering.begin() + q.line(q.n), entering.begin() + q.line(q.n) + q.stride), words(q.stride, q.n), seconds(q.stride, -9.0);
    for (int d = 1; d < q.n; ++d) {
        const double* from = entering.data() + q.line(d);
        k.line_merge_two(into.data(), seconds.data(), from, scores + q.line(d), 0.25, q.n + 1);
        k.line_merge(into.data(), words.data(), from, d % 2 == 0 ? nullptr : best.data(), d, 0.25, q.n + 1);
    }
    for (const Numbers* line : {&into, &words, &seconds}) out.insert(out.end(), line->begin(), line->begin() + q.n + 1);
    return out;
}

Numbers elimination(const Kernels& k, const Case& c) {
    const Square q = c.square();
    const double* scores = checked_copy(k, c);
    Numbers tops(q.stride), row(q.stride), gradients(q.size());
    k.column_best(scores, q, c.roots == Roots::multi ? 0 : 1, tops.data(), row.data());
    for (int d = 1; d <= q.n; ++d) {
        if (tops[d] == -problems::kInf) tops[d] = scores[d];
        if (tops[d] == -problems::kInf) return {};
    }
    auto state = Elimination::take(c.arena, q, c.roots);
    Numbers out{k.scale_weights(scores, tops.data(), state)};
    if (out[0] == -problems::kInf) return out;
    const Numbers weights(state.weights, state.weights + q.size());
    if (!k.eliminate(state)) return {-1.0};
    k.backpropagate(state, gradients.data());
    auto slopes = Elimination::take(c.arena, q, c.roots);
    Numbers changes(q.size());
    std::fill_n(slopes.weights, q.size(), 0.0);
    for (int h = 0; h <= q.n; ++h) {
        for (int d = 1; d <= q.n; ++d) slopes.weights[q.cell(h, d)] = weights[q.cell(h, d)] * ((h * 37 + d * 11) % 21 / 10.0 - 1.0);
    }
    k.eliminate_slopes(state, slopes);
    k.backpropagate_slopes(state, slopes, gradients.data(), changes.data());
    for (int d = 1; d <= q.n; ++d) {
        put(out, std::log(state.pivots[d]));
        for (int h = 0; h <= q.n; ++h) {
            if (h == d) continue;
            put(out, weights[q.cell(h, d)] * gradients[q.cell(h, d)]);
            put(out, weights[q.cell(h, d)] * changes[q.cell(h, d)]);
        }
    }
    return out;
}

Numbers extended_elimination(const Kernels& k, const Case& c) {
    const Square q = c.square();
    const double* scores = checked_copy(k, c);
    auto state = ExtendedElimination::take(c.arena, q, c.roots);
    k.exponentiate(scores, state.weights, q.size());
    if (!k.eliminate_extended(state)) return {-1.0};
    const LogPlane gradients = take_plane<LogPlane>(c.arena, q.size());
    k.backpropagate_extended(state, gradients);
    Numbers out{static_cast<double>(state.hung)};
    for (int d = 1; d <= q.n; ++d) {
        put(out, state.pivots.at(d));
        for (int h = 0; h <= q.n; ++h) {
            if (h != d) put(out, ratio(gradients.at(q.cell(h, d)) * extended_exp(scores[q.cell(h, d)]), kOne));
        }
    }
    return out;
}

const Program kPrograms[] = {
    {"copies", 0.0, copied},
    {"exponentiate", kRounding, exponentiated},
    {"branching", 0.0, branching},
    {"elimination", kRounding, elimination},
    {"extended elimination", kRounding, extended_elimination},
};

}  // namespace

TEST(kernels_are_named) {
    CHECK(kernels_named("baseline") != nullptr && kernels_named("none") == nullptr);
    for (const char* name : {"baseline", "avx2", "avx512"}) {
        const Kernels* table = kernels_named(name);
        if (table == nullptr) {
            std::printf("kernels: this CPU or build has no %s, not tested\n", name);
        } else {
            CHECK(std::string(table->name) == name);
        }
    }
}

TEST(kernels_agree_on_copies_and_arborescences) {
    problems::Random random(10);
    for (const int n : kLengths) {
        for (const Kind kind : kKinds) compare(kPrograms, Owned(n, {}, kind, random));
    }
}

TEST(kernels_find_what_is_no_number) {
    for (const char* name : {"baseline", "avx2", "avx512"}) {
        const Kernels* table = kernels_named(name);
        if (table == nullptr) continue;
        for (int length = 1; length <= 33; ++length) {
            Numbers line(length, 1e300);
            CHECK(table->all_valid(line.data(), length));
            for (const int place : {0, length / 2, length - 1}) {
                for (const double bad : {problems::kNan, problems::kInf, 1.1e300}) {
                    Numbers broken = line;
                    broken[place] = bad;
                    CHECK(!table->all_valid(broken.data(), length));
                }
            }
        }
        for (int n = 2; n <= 17; ++n) {
            problems::Random random(n);
            Owned owned(n, {}, Kind::normal, random);
            owned.arcs[owned.at(n, n - 1)] = problems::kNan;
            const Square q(n);
            Numbers copy(q.size()), right(q.size() + 64), left(q.size() + 64);
            CHECK(!table->copy_scores(owned.arcs.data(), q, copy.data()));
            for (const int first : {0, 1}) {
                const Diagonals d(n, first);
                right.resize(d.size());
                left.resize(d.size());
                CHECK(!table->copy_diagonals(owned.arcs.data(), d, right.data(), left.data()));
            }
        }
    }
}

}  // namespace kernels_tests
