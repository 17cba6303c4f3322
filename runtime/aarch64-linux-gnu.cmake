# Toolchain file: cross-compiles the runtime for aarch64 Linux with Debian's
# g++-aarch64-linux-gnu and runs its tests under qemu-user.
#
#   cmake -B build-aarch64 -DNNV12_BUILD_COMPILER=OFF -DNNV12_BUILD_TESTS=OFF \
#         -DCMAKE_TOOLCHAIN_FILE=runtime/aarch64-linux-gnu.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
