// Failures end the module with a trap. The C++ library would print a message, which needs imports.

#include <cstdlib>
#include <new>

void std::__libcpp_verbose_abort(const char *, ...) noexcept { __builtin_trap(); }

void *operator new(std::size_t size) {
    void *place = std::malloc(size);
    if (!place)
        __builtin_trap();
    return place;
}

void *operator new[](std::size_t size) { return operator new(size); }

void operator delete(void *place) noexcept { std::free(place); }

void operator delete[](void *place) noexcept { std::free(place); }
