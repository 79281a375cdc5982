// How the marginals of non-projective trees change as scores move along a direction, at any score scale.
//
// The elimination of matrix_tree.hpp and its way back, with d log(number) / dt beside every number. All numbers are positive, so such a
// rate is a mean of the rates of what is added up, and a sum or difference where numbers are multiplied or divided: of the direction's
// own size, however large or small the numbers are. For scores that defeat plain doubles (kernels/slopes_elimination.hpp serves the
// others), hence plain loops. Time O(n^3), space O(n^2).
#pragma once

#include <vector>

#include "trees/chart/layout.hpp"

namespace arbora {

class ExtendedSlopes {
public:
    // Squares of scores (column 0, diagonal: -inf) and of the direction; some tree must be allowed.
    ExtendedSlopes(const double* scores, const double* direction, Square square, Roots roots);

    // out[head, dep], dense (n+1) x (n+1); what is not written stays.
    void marginals_along(double* out);

private:
    struct Rated {
        Extended value;
        double rate = 0.0;
    };
    friend Rated operator*(const Rated& a, const Rated& b) { return {a.value * b.value, a.rate + b.rate}; }
    friend Rated operator/(const Rated& a, const Rated& b) { return {a.value / b.value, a.rate - b.rate}; }
    friend Rated operator+(const Rated& a, const Rated& b);

    bool root_outside(int k) const { return roots_ == Roots::single && k > hung_ && k > 1; }
    Rated& weight(int h, int d) { return weights_[square_.cell(h, d)]; }
    Rated& gradient(int h, int d) { return gradients_[square_.cell(h, d)]; }
    void eliminate();
    void backpropagate();
    Rated above_mean(const Rated& gain, double mean, double mean_slope) const;

    const double *scores_, *direction_;
    Square square_;
    Roots roots_;
    int hung_ = 0;             // see ExtendedElimination
    double largest_rate_ = 0;  // what no gradient's rate exceeds but by rounding
    std::vector<Rated> weights_, gradients_, pivots_;
};

}  // namespace arbora
