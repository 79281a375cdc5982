// The vector programs, one table per instruction set; kernels() is the best one that this CPU runs.
#pragma once

#include <cstddef>

#include "trees/arborescence/elimination_state.hpp"
#include "trees/chart/arc.hpp"
#include "trees/chart/grandparent.hpp"
#include "trees/chart/sibling.hpp"

namespace arbora {


struct Kernels {
    const char* name;

    // scores.hpp
    bool (*all_valid)(const double* values, int length);
    bool (*copy_scores)(const double* scores, Square square, double* out);
    bool (*copy_diagonals)(const double* scores, Diagonals layout, double* right, double* left);
    void (*exponentiate)(const double* scores, LogPlane out, std::size_t count);

    // plain_weights.hpp
    bool (*weigh_plain)(SpanCharts<PlainPlane>& charts, double* shift, double* scratch);

    // inside_arc.hpp, inside_sibling.hpp
    bool (*inside_arc_max)(ArcCharts<MaxPlane>& charts);
    bool (*inside_arc_log)(ArcCharts<LogPlane>& charts);
    bool (*inside_arc_plain)(ArcCharts<PlainPlane>& charts);
    void (*marginals_arc)(const ArcCharts<LogPlane>& charts, FlowPlanes flow);
    void (*marginals_arc_plain)(const ArcCharts<PlainPlane>& charts, FlowPlanes flow);
    bool (*inside_sibling_max)(SiblingCharts<MaxPlane>& charts);
    bool (*inside_sibling_log)(SiblingCharts<LogPlane>& charts);
    bool (*inside_sibling_plain)(SiblingCharts<PlainPlane>& charts);
    void (*marginals_sibling)(const SiblingCharts<LogPlane>& charts, FlowPlanes flow, double* siblings);
    void (*marginals_sibling_plain)(const SiblingCharts<PlainPlane>& charts, FlowPlanes flow, double* siblings);

    // slopes_arc.hpp
    void (*slopes_arc)(const ArcCharts<LogPlane>& charts, const ArcScores& direction, FlowPlanes rate, FlowPlanes flow, FlowPlanes slope);
    void (*slopes_arc_plain)(const ArcCharts<PlainPlane>& charts, const ArcScores& direction, FlowPlanes rate, FlowPlanes flow,
                             FlowPlanes slope);

    // inside_grandparent.hpp
    void (*inside_grandparent_max)(GrandparentCharts<MaxPlane>& charts);
    void (*inside_grandparent_log)(GrandparentCharts<LogPlane>& charts);
    void (*marginals_grandparent)(const GrandparentCharts<LogPlane>& charts, GrandparentMemory memory, GrandparentMarginals out);

    // branching.hpp
    void (*column_best)(const double* scores, Square square, int first, double* best, double* row);
    double (*largest_magnitude)(const double* scores, Square square);
    void (*transpose)(const double* scores, Square square, double* out);
    int (*line_best)(const double* line, int length, double* best);
    int (*line_rank)(const double* line, int length, double target);
    void (*line_merge)(double* into, double* into_word, const double* from, const double* from_word, double word, double shift,
                       int length);
    void (*line_merge_two)(double* into, double* into_second, const double* from, const double* from_second, double shift, int length);

    // elimination.hpp, slopes_elimination.hpp, elimination_extended.hpp
    double (*scale_weights)(const double* scores, const double* column_top, Elimination& state);
    bool (*eliminate)(Elimination& state);
    void (*backpropagate)(const Elimination& state, double* gradients);
    void (*eliminate_slopes)(const Elimination& state, EliminationSlopes& slopes);
    void (*backpropagate_slopes)(const Elimination& state, const EliminationSlopes& changes, const double* gradients, double* slopes);
    bool (*eliminate_extended)(ExtendedElimination& state);
    void (*backpropagate_extended)(const ExtendedElimination& state, LogPlane gradients);
};

const Kernels& kernels();

// By name ("baseline", "avx2", "avx512"), for tests and benchmarks; nullptr where the CPU or the build lacks it.
const Kernels* kernels_named(const char* name);

}  // namespace arbora
