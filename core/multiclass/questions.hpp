// A learner's queries about examples with gold classes, with a cost for each wrong class.
//
// The features of a class are the example's, at that class's place. So a difference of features is the example times one number per
// class:
//
//     f(right) - f(class c)  =  x ⊗ (e_right - e_c)          <d_b, d_c>  =  |x|² (1 + [b = c])     for b and c that are wrong
//
// and computations over several classes cost O(classes), not O(classes² · features). Ties go to the lower class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "multiclass/examples.hpp"
#include "numeric/batch_loop.hpp"

namespace arbora::multiclass {

// The classes of one example with the best scores and a cost, and sums of their differences.
class Candidates {
public:
    Reply best() const;
    const std::vector<double>& losses() const { return losses_; }    // above 0
    const std::vector<double>& margins() const { return margins_; }  // <w, d_j>
    std::vector<double> gram() const;                                // m × m
    // w += Σ multipliers[j] d_j. O(features · classes whose multiplier is not zero).
    void add_to(Weights& w, std::span<const double> multipliers) const;

private:
    friend class Questions;

    Row row_;
    std::size_t classes_ = 0, right_ = 0, first_ = 0;
    double first_loss_ = 0.0, first_margin_ = 0.0;
    std::vector<std::size_t> wrong_;
    std::vector<double> losses_, margins_;
};

class Questions {
public:
    // right: the class of each example; costs: classes × classes, [right, other], 0 on the diagonal. Does not copy the examples.
    // Throws InputError if these do not match, or there would be more than 2^32 weights.
    Questions(const Examples& examples, std::vector<std::int32_t> right, std::vector<double> costs, int threads);
    // The best class by score, or by score plus cost. With sums, all classes: loss is -log P(right), the difference its negative gradient.
    Reply ask(std::size_t i, const Weights& w, bool sums, bool cost_augmented) const;
    // The k best by score, best first.
    std::vector<Reply> candidates(std::size_t i, const Weights& w, std::size_t k) const;
    // Those of the k best that have a cost; valid while the examples exist.
    Candidates wrong_candidates(std::size_t i, const Weights& w, std::size_t k) const;
    // The sum of `ask` over examples.
    Reply total(std::span<const std::int64_t> chosen, const Weights& w, bool sums, bool cost_augmented) const;
    // Subtracts the sum of differences from `gradient` [weight_count]; returns the sum of losses.
    double gradient(std::span<const std::int64_t> chosen, const Weights& w, double* gradient, bool sums, bool cost_augmented) const;
    std::size_t size() const { return right_.size(); }
    std::size_t classes() const { return classes_; }
    std::size_t weight_count() const { return examples_->width() * classes_; }

private:
    std::vector<double> scores(std::size_t i, const Weights& w, bool cost_augmented) const;
    // The k best classes by score, best first.
    std::vector<std::size_t> ranked(std::span<const double> scores, std::size_t k) const;
    // The coefficient of the example at each class's place in the difference.
    struct Shares {
        double loss = 0.0;
        std::vector<double> of_classes;
    };
    Shares shares(std::size_t i, const Weights& w, bool sums, bool cost_augmented) const;
    template <class Take>
    double each_of(std::span<const std::int64_t> chosen, const Weights& w, bool sums, bool cost_augmented, Take take) const;
    double cost(std::size_t i, std::size_t c) const { return costs_[static_cast<std::size_t>(right_[i]) * classes_ + c]; }

    const Examples* examples_;
    std::vector<std::int32_t> right_;
    std::vector<double> costs_;
    std::size_t classes_;
    int threads_;
};

}  // namespace arbora::multiclass
