// Compiled once per instruction set, with ARBORA_ISA naming it and the compiler told to use it.
#include "numeric/kernels/branching.hpp"
#include "numeric/kernels/elimination.hpp"
#include "numeric/kernels/elimination_extended.hpp"
#include "numeric/kernels/inside_arc.hpp"
#include "numeric/kernels/inside_grandparent.hpp"
#include "numeric/kernels/inside_sibling.hpp"
#include "numeric/kernels/kernels.hpp"
#include "numeric/kernels/plain_weights.hpp"
#include "numeric/kernels/scores.hpp"
#include "numeric/kernels/slopes_arc.hpp"
#include "numeric/kernels/slopes_elimination.hpp"

#define ARBORA_TEXT_OF(x) #x
#define ARBORA_NAME_OF(x) ARBORA_TEXT_OF(x)

namespace arbora::ARBORA_ISA {

static void inside_grandparent_max(GrandparentCharts<MaxPlane>& c) { Grandparent<Max>::inside(c); }
static void inside_grandparent_log(GrandparentCharts<LogPlane>& c) { Grandparent<Log>::inside(c); }

static void marginals_grandparent(const GrandparentCharts<LogPlane>& c, GrandparentMemory m, GrandparentMarginals out) {
    GrandparentFlow{c, m.complete, m.complete_by_end, m.open, m.between, m.scratch, out}.run();
}

extern const Kernels table;
const Kernels table = {
    ARBORA_NAME_OF(ARBORA_ISA),
    all_valid,
    copy_scores,
    copy_diagonals,
    exponentiate,
    weigh_plain,
    inside_arc<MaxLanes>,
    inside_arc<LogLanes>,
    inside_arc<PlainLanes>,
    flow_arc<LogPlane>,
    flow_arc<PlainPlane>,
    inside_sibling<MaxLanes>,
    inside_sibling<LogLanes>,
    inside_sibling<PlainLanes>,
    flow_sibling<LogPlane>,
    flow_sibling<PlainPlane>,
    slopes_arc<LogPlane>,
    slopes_arc<PlainPlane>,
    inside_grandparent_max,
    inside_grandparent_log,
    marginals_grandparent,
    column_best,
    largest_magnitude,
    transpose,
    line_best,
    line_rank,
    line_merge,
    line_merge_two,
    scale_weights,
    eliminate,
    backpropagate,
    eliminate_slopes,
    backpropagate_slopes,
    eliminate_extended,
    backpropagate_extended,
};

}  // namespace arbora::ARBORA_ISA
