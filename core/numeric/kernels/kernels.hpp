// The vector programs, one table per instruction set; kernels() is the best one that this CPU supports.
#pragma once

#include <cstddef>

#include "numeric/dense.hpp"
#include "trees/arborescence/elimination_state.hpp"
#include "trees/chart/arc.hpp"
#include "trees/chart/grandparent.hpp"
#include "trees/chart/sibling.hpp"

namespace arbora {

// A function pointer, and an overload set of them: one program for several kinds of charts.
template <class Signature>
struct Kernel;
template <class Result, class... Arguments>
struct Kernel<Result(Arguments...)> {
    Result (*function)(Arguments...);
    Result operator()(Arguments... arguments) const { return function(arguments...); }
};
template <class... Signatures>
struct KernelSet : Kernel<Signatures>... {
    using Kernel<Signatures>::operator()...;
};

struct Kernels {
    const char* name;

    // scores.hpp, plain_weights.hpp
    bool (*all_valid)(const double* values, int length);
    bool (*copy_scores)(const double* scores, Square square, double* out);
    bool (*copy_diagonals)(const double* scores, Diagonals layout, double* right, double* left);
    void (*exponentiate)(const double* scores, LogPlane out, std::size_t count);
    bool (*weigh_plain)(SpanCharts<PlainPlane>& charts, double* shift, double* scratch);

    // inside_arc.hpp, inside_sibling.hpp, inside_grandparent.hpp, slopes_arc.hpp
    KernelSet<bool(ArcCharts<MaxPlane>&), bool(ArcCharts<LogPlane>&), bool(ArcCharts<PlainPlane>&), bool(SiblingCharts<MaxPlane>&),
             bool(SiblingCharts<LogPlane>&), bool(SiblingCharts<PlainPlane>&), bool(GrandparentCharts<MaxPlane>&),
             bool(GrandparentCharts<LogPlane>&)>
        inside;
    KernelSet<void(const ArcCharts<LogPlane>&, FlowPlanes), void(const ArcCharts<PlainPlane>&, FlowPlanes)> marginals_arc;
    KernelSet<void(const SiblingCharts<LogPlane>&, FlowPlanes, double*), void(const SiblingCharts<PlainPlane>&, FlowPlanes, double*)>
        marginals_sibling;
    void (*marginals_grandparent)(const GrandparentCharts<LogPlane>& charts, GrandparentMemory memory, GrandparentMarginals out);
    KernelSet<void(const ArcCharts<LogPlane>&, const ArcScores&, FlowPlanes, FlowPlanes, FlowPlanes),
             void(const ArcCharts<PlainPlane>&, const ArcScores&, FlowPlanes, FlowPlanes, FlowPlanes)>
        slopes_arc;

    // branching.hpp
    void (*column_best)(const double* scores, Square square, int first, double* best, double* row);
    double (*largest_magnitude)(const double* scores, Square square);
    void (*transpose)(const double* scores, Square square, double* out);
    int (*line_best)(const double* line, int length, double* best);
    int (*line_rank)(const double* line, int length, double target);
    void (*line_merge)(double* into, double* into_word, const double* from, const double* from_word, double word, double shift, int length);
    void (*line_merge_two)(double* into, double* into_second, const double* from, const double* from_second, double shift, int length);

    // elimination.hpp, elimination_extended.hpp
    double (*scale_weights)(const double* scores, const double* column_top, Elimination& state);
    bool (*eliminate)(Elimination& state);
    void (*backpropagate)(const Elimination& state, double* gradients);
    void (*eliminate_slopes)(const Elimination& state, Elimination& slopes);
    void (*backpropagate_slopes)(const Elimination& state, const Elimination& changes, const double* gradients, double* slopes);
    bool (*eliminate_extended)(ExtendedElimination& state);
    void (*backpropagate_extended)(const ExtendedElimination& state, LogPlane gradients);

    // dense.hpp
    void (*product)(const DenseProduct& product);
    void (*lstm_cells)(const float* gates, std::size_t rows, std::size_t size, float* cells, float* outputs, std::size_t output_stride);
    void (*lstm_forward_step)(const LstmForwardStep& step);
    void (*lstm_backward_step)(const LstmBackwardStep& step);
    void (*rectify)(float* values, std::size_t count, float slope);
    std::size_t (*place_of_largest)(const float* scores, std::size_t count);
};

const Kernels& kernels();

// By name ("baseline", "avx2", "avx512"), for tests and benchmarks; nullptr if the CPU or the build lacks it.
const Kernels* kernels_named(const char* name);

}  // namespace arbora
