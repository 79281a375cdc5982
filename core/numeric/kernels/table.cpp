// Compiled once per instruction set, with ARBORA_ISA set to its name and matching compiler options.
#include "numeric/kernels/branching.hpp"
#include "numeric/kernels/dense.hpp"
#include "numeric/kernels/elimination.hpp"
#include "numeric/kernels/elimination_extended.hpp"
#include "numeric/kernels/inside_grandparent.hpp"
#include "numeric/kernels/inside_sibling.hpp"
#include "numeric/kernels/kernels.hpp"
#include "numeric/kernels/plain_weights.hpp"
#include "numeric/kernels/slopes_arc.hpp"

#define ARBORA_TEXT_OF(x) #x
#define ARBORA_NAME_OF(x) ARBORA_TEXT_OF(x)

namespace arbora::ARBORA_ISA {

extern const Kernels table;
const Kernels table = {
    ARBORA_NAME_OF(ARBORA_ISA),
    all_valid, copy_scores, copy_diagonals, exponentiate, weigh_plain,
    {{inside_arc<MaxLanes>}, {inside_arc<LogLanes>}, {inside_arc<PlainLanes>},
     {inside_sibling<MaxLanes>}, {inside_sibling<LogLanes>}, {inside_sibling<PlainLanes>},
     {Grandparent<Max>::inside}, {Grandparent<Log>::inside}},
    {{flow_arc<LogPlane>}, {flow_arc<PlainPlane>}},
    {{flow_sibling<LogPlane>}, {flow_sibling<PlainPlane>}},
    flow_grandparent,
    {{slopes_arc<LogPlane>}, {slopes_arc<PlainPlane>}},
    column_best, largest_magnitude, transpose, line_best, line_rank, line_merge, line_merge_two,
    scale_weights, eliminate, backpropagate, eliminate_slopes, backpropagate_slopes, eliminate_extended, backpropagate_extended,
    product, lstm_cells, lstm_forward_step, lstm_backward_step, rectify, place_of_largest,
};

}  // namespace arbora::ARBORA_ISA
