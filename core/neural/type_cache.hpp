// Products of word types, kept between batches: a few thousand frequent words make up most of any text.
//
// The key of a type is everything its row depends on: the rows of its word and vector, and its characters. Memory is bounded: types
// are kept in two generations, and a full younger one replaces the older one. A type found in the older one moves to the younger.
// Rows are kept as computed, so results do not depend on earlier batches.
#pragma once

#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "neural/word_types.hpp"

namespace arbora::neural {

class TypeCache {
public:
    // width: numbers per type.
    explicit TypeCache(std::size_t width) : width_(width), capacity_(kBytes / 2 / (width * sizeof(float)) + 1) {}

    // out [types, width] gets the known types' rows from its end on; place[type]: the row. Returns the other types, in order: they
    // get the first rows.
    std::vector<std::size_t> look_up(const WordTypes& types, float* out, std::vector<std::size_t>& place) {
        const std::lock_guard lock(mutex_);
        std::vector<std::size_t> unknown;
        std::size_t known = 0;
        std::string key;
        for (std::size_t type = 0; type < types.size(); ++type) {
            make_key(types, type, key);
            const float* row = find(key);
            place[type] = row == nullptr ? unknown.size() : types.size() - ++known;
            if (row == nullptr) unknown.push_back(type);
            else std::memcpy(out + place[type] * width_, row, width_ * sizeof(float));
        }
        return unknown;
    }

    // rows [chosen types, width].
    void keep(const WordTypes& types, const std::vector<std::size_t>& chosen, const float* rows) {
        const std::lock_guard lock(mutex_);
        std::string key;
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            make_key(types, chosen[i], key);
            if (!young_.row_of.contains(key)) insert(key, rows + i * width_);
        }
    }

private:
    static constexpr std::size_t kBytes = std::size_t{32} << 20;  // both generations

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    struct Generation {
        std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> row_of;
        UnsetVector<float> rows;
    };

    static void make_key(const WordTypes& types, std::size_t type, std::string& key) {
        const auto characters = types.characters_of(type);
        const std::int32_t rows[2] = {types.words[type], types.vectors[type]};
        key.assign(reinterpret_cast<const char*>(rows), sizeof rows);
        key.append(reinterpret_cast<const char*>(characters.data()), characters.size_bytes());
    }

    const float* find(const std::string& key) {
        if (const auto found = young_.row_of.find(key); found != young_.row_of.end()) return young_.rows.data() + found->second * width_;
        const auto found = old_.row_of.find(key);
        return found == old_.row_of.end() ? nullptr : insert(key, old_.rows.data() + found->second * width_);
    }

    // `row` may belong to the older generation, whose memory the younger one takes over when it is full.
    const float* insert(const std::string& key, const float* row) {
        if (young_.row_of.size() == capacity_) {
            std::swap(young_, old_);
            young_.row_of.clear();
        }
        young_.rows.resize(capacity_ * width_);  // once; pages are only taken when they are written
        float* place = young_.rows.data() + young_.row_of.size() * width_;
        std::memmove(place, row, width_ * sizeof(float));
        young_.row_of.emplace(key, young_.row_of.size());
        return place;
    }

    std::size_t width_, capacity_;
    Generation young_, old_;
    std::mutex mutex_;
};

}  // namespace arbora::neural
