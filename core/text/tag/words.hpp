// A tagger's view of words: their features as places in a weight table, for sequence::Model.
//
// Each word has one 32-bit value per field. A feature is a conjunction of up to three fields of the word and its neighbours, and
// its place is a sum of value x odd factor, as in features/hash.hpp. The sets of conjunctions have versions, because they locate
// the weights in a saved model.
#pragma once

#include <cstdint>
#include <string>

#include "features/clusters.hpp"
#include "text/sequence/chain.hpp"
#include "text/tag/lexicon.hpp"

namespace arbora::tag {

enum class Set : std::uint8_t {
    upos_v1,   // forms alone
    upos_v2,   // and clusters of words
    morph_v1,  // forms and UPOS
    morph_v2,  // and clusters of words
    lemma_v1,  // forms, UPOS, XPOS and FEATS
};

// Throws InputError for a name other than "upos-v1", "upos-v2", "morph-v1", "morph-v2", "lemma-v1".
Set set_of(const std::string& name);

// The features of all words. `clusters`: null unless the set reads them. `own_tags`, null or one per word: the tag with which the
// lexicon leaves out each word's own occurrence, for training. O(words · features). Leaves labels and gold empty.
sequence::Batch encode(const conll::Columns& columns, Set set, const Lexicon& lexicon, const feature::Clusters* clusters, const std::int32_t* own_tags, int bits);

}  // namespace arbora::tag
