// Fuzz target of the CoNLL readers. The first byte selects format, roots and the size of the pieces in which the rest arrives.
// Invariants for any bytes:
//   - no crash, no sanitizer report;
//   - a strict reader without an error reproduces the input byte for byte;
//   - a strict reader with an error has read the same sentences up to it as a lenient one;
//   - every error has a line number within the file, and texts in UTF-8;
//   - the piece size changes nothing.
// Run it with: make fuzz-conll
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "conll/reader.hpp"
#include "conll/tree_shape.hpp"
#include "base/text.hpp"

namespace {

using namespace arbora::conll;

void require(bool condition) {
    if (!condition) std::abort();
}

struct Outcome {
    Columns columns;
    std::vector<Problem> problems;
    bool failed = false;
    std::int64_t skipped = 0;
};

Outcome read(std::string_view text, Options options, std::size_t piece) {
    Reader reader(options);
    std::size_t used = 0, seen = 0;
    bool last = false;
    while (!last && !reader.failed()) {
        seen = std::min(text.size(), std::max(seen, used) + piece);
        last = seen == text.size();
        // A copy of exact size, so that the address sanitizer detects reads beyond the piece.
        const std::vector<char> copy(text.begin() + static_cast<std::ptrdiff_t>(used),
                                     text.begin() + static_cast<std::ptrdiff_t>(seen));
        const std::size_t step = reader.parse({copy.data(), copy.size()}, last);
        require(step <= copy.size());
        require(!last || reader.failed() || step == copy.size());
        used += step;
    }
    return {reader.take(), reader.take_problems(), reader.failed(), reader.skipped()};
}

std::string written(const Columns& columns) {
    std::string out;
    for (std::size_t s = 0; s < columns.sentence_count(); ++s) append_sentence(columns, s, out);
    return out;
}

void check_problems(const Outcome& outcome, std::string_view text) {
    const std::int64_t lines = 1 + std::count(text.begin(), text.end(), '\n');
    for (const Problem& problem : outcome.problems) {
        require(problem.line >= 1 && problem.line <= lines);
        require(!problem.what.empty() && !problem.expected.empty() && !problem.got.empty());
        for (const std::string& part : {problem.what, problem.expected, problem.got})
            require(arbora::text::first_bad_utf8(part) == part.size());
    }
}

void check_shapes(const Columns& columns) {
    const auto shapes = measure_trees(columns.heads, columns.sentence_offsets);
    require(shapes.nonprojective.size() == columns.word_count());
    for (std::size_t s = 0; s < columns.sentence_count(); ++s)
        require(shapes.depths[s] == -1 ? shapes.roots[s] == -1 : shapes.depths[s] >= 1 && shapes.roots[s] >= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::uint8_t choice = data[0];
    Options options{choice & 1 ? Format::conllx : Format::conllu, choice & 2 ? Roots::single : Roots::multi, false};
    // Small pieces, but at most some hundreds for long inputs: each is read again until its sentence ends.
    const std::size_t piece = (std::size_t{1} + (choice >> 2)) * (1 + text.size() / 256);
    const std::size_t whole = std::max<std::size_t>(text.size(), 1);

    const Outcome strict = read(text, options, whole), pieces = read(text, options, piece);
    require(strict.failed == !strict.problems.empty());
    require(strict.failed || written(strict.columns) == text);
    require(strict.failed == pieces.failed && written(strict.columns) == written(pieces.columns));
    check_problems(strict, text);
    check_shapes(strict.columns);

    options.lenient = true;
    const Outcome lenient = read(text, options, whole), lenient_pieces = read(text, options, piece);
    require(!lenient.failed && strict.failed == (lenient.skipped > 0));
    require(written(lenient.columns).starts_with(written(strict.columns)));
    require(lenient.skipped == lenient_pieces.skipped);
    require(written(lenient.columns) == written(lenient_pieces.columns));
    check_problems(lenient, text);
    // The sentences that a lenient reader kept form a valid file.
    require(!read(written(lenient.columns), {options.format, options.roots, false}, whole).failed);
    return 0;
}
