// The only conversion between numpy arrays and the core's pointers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>

namespace arbora {

namespace nb = nanobind;

// What the core reads: float64, C order. arbora.inference makes such arrays of whatever the caller gave.
using Input = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

// Memory that the core fills and numpy then owns.
template <class T>
class Output {
public:
    explicit Output(std::size_t size) : memory_(static_cast<T*>(std::malloc((size > 0 ? size : 1) * sizeof(T)))) {
        if (memory_ == nullptr) throw std::bad_alloc();
    }

    T* data() { return memory_.get(); }

    // Hands the memory over; call once.
    nb::object numpy(std::initializer_list<std::size_t> shape) {
        T* data = memory_.release();
        const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
        return nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.begin(), owner));
    }

private:
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T, Free> memory_;
};

}  // namespace arbora
