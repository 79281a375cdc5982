// What a learner is told of one example, or of several: the answer to one of its questions.
#pragma once

#include "numeric/sparse.hpp"

namespace arbora {

struct Reply {
    double loss = 0.0;
    double margin = 0.0;  // <w, difference>
    SparseVector difference;
};

}  // namespace arbora
