// Features of the states of all systems against a slow computation from the definition.
#include <string>
#include <vector>

#include "check.hpp"
#include "base/errors.hpp"
#include "sentences.hpp"
#include "slow_transitions.hpp"
#include "search/transition/features.hpp"

namespace transition_features_tests {

using namespace arbora;
using namespace arbora::transition;
using problems::Random;
using sentences::below;

namespace {

constexpr int kNames = 5;

bool is_of_guide(Role role) { return role == Role::left_guide || role == Role::right_guide || role == Role::dep_guide; }

bool has_extra(int role, Extra field) {
    using enum Role;
    const auto r = static_cast<Role>(role);
    if (field == Extra::label) return r != next && r != after_next && r != grand && !is_of_guide(r);
    if (field == Extra::distance) return r == left || r == arc_head;
    return r == left || r == right || r == arc_head || r == arc_dep;
}

// Atoms of all roles and fields, or of all that do not concern a guide.
std::vector<slow::TransitionTemplate> some_templates(Random& random, int count, int roles, bool is_guided) {
    std::vector<slow::TransitionTemplate> templates(static_cast<std::size_t>(count));
    for (auto& atoms : templates)
        for (int a = 1 + below(random, 3); a > 0; --a) {
            int role = below(random, roles);
            while (!is_guided && is_of_guide(static_cast<Role>(role))) role = below(random, roles);
            const int extra = static_cast<int>(Extra::label) + below(random, is_guided ? kExtras : kExtras - 3);
            if (below(random, 2) == 0 && has_extra(role, static_cast<Extra>(extra))) atoms.push_back({role, 0, extra});
            else atoms.push_back({role, below(random, 5) - 2, is_guided ? below(random, kWordFields) : sentences::random_field(random)});
        }
    return templates;
}

// A random tree and random labels of a guide, some of which are none.
void put_guide(Random& random, slow::Sentence& sentence, feature::Encoded& batch) {
    std::vector<std::int32_t> labels;
    sentence.guide_heads = sentences::random_tree(random, sentence.n(), false);
    sentence.guide_labels.assign(1, "");
    for (int w = 1; w <= sentence.n(); ++w) {
        labels.push_back(below(random, kNames + 1) - 1);
        sentence.guide_labels.push_back(labels.back() < 0 ? "" : sentences::kLabels[static_cast<std::size_t>(labels.back())]);
    }
    const std::vector<std::int32_t> heads(sentence.guide_heads.begin() + 1, sentence.guide_heads.end());
    batch.set_guide(heads.data(), labels.data(), sentences::kLabels);
}

const char* kLetters[] = {"SDLRU", "S.LR.", "SWLR."};

// Random moves from the first state to the last; see(state, plain state) in each state that has a move.
template <class S, class See>
void walk(const S& system, char letters, int n, Random& random, See&& see) {
    Space space;
    State state = system.start(space, n);
    slow::PlainState plain(letters == 0, n);
    for (;;) {
        const Moves valid = system.valid(space, state);
        if (valid == 0) return;
        see(space, state, plain);
        Move move{};
        do move = static_cast<Move>(below(random, 5));
        while (!has(valid, move));
        const int label = makes_arc(move) ? below(random, kNames) : -1;
        system.apply(space, state, {move, static_cast<std::int16_t>(label)});
        plain.make(kLetters[static_cast<std::size_t>(letters)][static_cast<std::size_t>(move)], label);
    }
}

template <class S>
void check_features(char letters, std::uint64_t seed) {
    Random random(seed);
    for (int round = 0; round < 30; ++round) {
        const bool is_guided = round % 4 < 3;
        const auto moves = some_templates(random, 40, kMoveRoles, is_guided), labels = some_templates(random, 40, kRoles, is_guided);
        S system;
        system.roots = round % 2 == 0 ? Roots::single : Roots::multi;
        Model model(system, Templates(Kind::moves, moves), Templates(Kind::labels, labels));
        model.labels = kNames;
        model.move_size = model.label_size = 1U << 12;
        const int n = 1 + below(random, 9);
        auto sentence = sentences::random_sentence(random, n, 5);
        const auto nodes = static_cast<std::size_t>(n) + 1;
        auto batch = sentences::encoded(sentence, {std::vector<int>(nodes, 0), std::vector<int>(nodes, 0)});
        if (is_guided) put_guide(random, sentence, batch);
        const std::vector<float> weights(model.weight_count());
        Features features(model);
        features.load(batch.sentence(0), model.view(weights.data(), 1.0));
        walk(system, letters, n, random, [&](const Space& space, const State& state, const slow::PlainState& plain) {
            const auto found = features.hashes(space, state, system.focus(space, state));
            CHECK(std::vector<std::uint32_t>(found.begin(), found.end()) == slow::transition_sums(sentence, plain, moves, 1));
            for (const Move move : {Move::left, Move::right}) {
                if (!has(system.valid(space, state), move)) continue;
                std::vector<SparseEntry> entries;
                features.look(space, state, system.focus(space, state));
                features.add_label(move, system.arc(space, state, move), 0, 1.0F, entries);
                std::vector<std::uint32_t> rows, expected;
                for (const auto& entry : entries) rows.push_back(entry.first - model.move_size);
                for (const std::uint32_t sum : slow::transition_sums(sentence, plain, labels, 2, move == Move::left ? 'L' : 'R')) {
                    const std::uint32_t turned = sum + (move == Move::left ? slow::kLeftLabel : 0);
                    expected.push_back(static_cast<std::uint32_t>(std::uint64_t{turned} * (model.label_size - kNames) / 0x100000000ULL) / 16 * 16);
                }
                CHECK(rows == expected);
            }
        });
    }
}

}  // namespace

TEST(transition_features_are_those_of_the_definition) {
    check_features<ArcEager>(0, 51);
    check_features<ArcStandard>(1, 52);
    check_features<Swap>(2, 53);
}

TEST(transition_features_about_a_guide_need_one) {
    const auto guide = static_cast<int>(feature::Field::guide);
    const slow::Sentence sentence{{{"a", "a", "T0", "F", "_"}}, {"T0"}};
    const auto batch = sentences::encoded(sentence, {{-1, 0}, {-1, 0}});
    const std::vector<float> weights(1 << 12);
    const auto role = [](Role r) { return static_cast<int>(r); };
    const std::vector<Atom> atoms = {{0, 0, guide}, {1, 0, static_cast<int>(Extra::head_place)}, {1, 0, static_cast<int>(Extra::behind)}, {role(Role::left_guide), 0, 0}};
    for (const Atom& atom : atoms)
        for (const bool of_moves : {true, false}) {
            const std::vector<slow::TransitionTemplate> about = {{atom}}, plain = {{{0, 0, 0}}};
            Model model(ArcEager{}, Templates(Kind::moves, of_moves ? about : plain), Templates(Kind::labels, of_moves ? plain : about));
            model.move_size = model.label_size = 1U << 11;
            CHECK(model.moves.need_guide() == of_moves && model.label_templates.need_guide() != of_moves);
            Features features(model);
            bool is_refused = false;
            try {
                features.load(batch.sentence(0), model.view(weights.data(), 1.0));
            } catch (const InputError& error) {
                is_refused = std::string(error.what()).find("trees of a guide") != std::string::npos;
            }
            CHECK(is_refused);
        }
}

}  // namespace transition_features_tests
