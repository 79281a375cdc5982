// The only conversion between numpy arrays and the core's pointers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/memory.hpp"

namespace arbora {

namespace nb = nanobind;

// Arrays as the core reads them: float64, C order. arbora.inference converts the caller's arrays to this form.
using Input = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

// Results of the same large sizes recur (marginals in training, for example), and fresh pages cost more than filling them. So
// arrays that numpy frees are kept, up to a limit, and reused.
class Recycler {
public:
    static constexpr std::size_t kSmall = 1 << 14;  // below this, malloc is fast enough
    static constexpr std::size_t kKeep = std::size_t{128} << 20;

    static Recycler& shared() {
        static auto* recycler = new Recycler;  // never destroyed: arrays may outlive the module
        return *recycler;
    }

    // The block may be larger than requested; `bytes` is set to its size.
    void* take(std::size_t& bytes) {
        if (bytes >= kSmall) {
            const std::lock_guard lock(mutex_);
            const auto found = kept_.lower_bound(bytes);
            if (found != kept_.end() && found->first <= bytes + bytes / 4) {
                const auto [size, memory] = *found;
                kept_.erase(found);
                kept_bytes_ -= size;
                bytes = size;
                return memory;
            }
        }
        return allocate_large(bytes);
    }

    void give_back(void* memory, std::size_t bytes) noexcept {
        if (bytes >= kSmall) {
            const std::lock_guard lock(mutex_);
            if (kept_bytes_ + bytes <= kKeep) {
                try {
                    kept_.emplace(bytes, memory);
                    kept_bytes_ += bytes;
                    return;
                } catch (const std::bad_alloc&) {
                    // No memory for the entry: free the block.
                }
            }
        }
        free_large(memory);
    }

private:
    std::mutex mutex_;
    std::multimap<std::size_t, void*> kept_;  // by size
    std::size_t kept_bytes_ = 0;
};

// Memory that the core fills and numpy then owns.
template <class T>
class Output {
public:
    explicit Output(std::size_t size)
        : bytes_(size * sizeof(T)), memory_(size == 0 ? nullptr : static_cast<T*>(Recycler::shared().take(bytes_))) {}
    Output(Output&& other) noexcept : bytes_(other.bytes_), memory_(std::exchange(other.memory_, nullptr)) {}
    Output& operator=(Output&&) = delete;
    ~Output() {
        if (memory_ != nullptr) Recycler::shared().give_back(memory_, bytes_);
    }

    T* data() { return memory_; }

    // Hands the memory over; call once.
    nb::object numpy(std::initializer_list<std::size_t> shape) {
        auto whole = std::make_unique<Output>(std::move(*this));
        T* data = whole->memory_;
        const nb::capsule owner(whole.release(), [](void* p) noexcept { delete static_cast<Output*>(p); });
        return nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.begin(), owner));
    }

private:
    std::size_t bytes_;
    T* memory_;
};

}  // namespace arbora
