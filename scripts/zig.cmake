# Lets CMake compile with zig, which brings the headers and libraries of every system: cmake -DCMAKE_TOOLCHAIN_FILE=scripts/zig.cmake
# -DARBORA_ZIG=ZIG -DARBORA_TARGET=TARGET. ZIG is the program, from the Python package ziglang; TARGET names processor, system and C library,
# such as aarch64-linux-gnu.2.28, aarch64-macos or x86_64-windows-gnu. `make portable` and scripts/build_wheel.py use it.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ARBORA_ZIG ARBORA_TARGET)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${ARBORA_TARGET}")
if(ARBORA_TARGET MATCHES "-linux")
  set(CMAKE_SYSTEM_NAME Linux)
elseif(ARBORA_TARGET MATCHES "-macos")
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_INSTALL_NAME_TOOL "${ARBORA_ZIG}")  # CMake wants one, and never calls it
elseif(ARBORA_TARGET MATCHES "-windows")
  set(CMAKE_SYSTEM_NAME Windows)
  set(CMAKE_RC_COMPILER "${ARBORA_ZIG}")  # likewise
endif()

set(CMAKE_C_COMPILER "${ARBORA_ZIG}" cc -target ${ARBORA_TARGET})
set(CMAKE_CXX_COMPILER "${ARBORA_ZIG}" c++ -target ${ARBORA_TARGET})
set(CMAKE_C_FLAGS_INIT -g0)  # zig's default is to add debugging information
set(CMAKE_CXX_FLAGS_INIT -g0)
# Tests of the compiler need no linker, which would first build zig's C++ library.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "\"${ARBORA_ZIG}\" ar qc <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "\"${ARBORA_ZIG}\" ar q <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "\"${ARBORA_ZIG}\" ranlib <TARGET>")
endforeach()
