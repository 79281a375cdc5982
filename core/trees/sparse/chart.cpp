#include "trees/sparse/chart.hpp"

namespace arbora::graph {

template class Chart<MaxSemiring, Order::arcs>;
template class Chart<MaxSemiring, Order::siblings>;
template class Chart<MaxSemiring, Order::grandparents>;
template class Chart<SumSemiring, Order::grandparents>;

}  // namespace arbora::graph
