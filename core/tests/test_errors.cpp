#include "check.hpp"
#include "base/errors.hpp"

namespace errors_tests {

TEST(errors_carry_their_message) {
    try {
        throw arbora::NoTreeError("nothing left");
    } catch (const std::runtime_error& error) {
        CHECK(std::string(error.what()) == "nothing left");
    }
}

}  // namespace errors_tests
