#include "errors/errors.hpp"
