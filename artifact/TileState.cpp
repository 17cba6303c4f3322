//===- TileState.cpp - Whether this process may use a feature -------------===//
#include "artifact/TileState.h"

#if defined(__x86_64__)
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace nnv12::artifact {

bool mayUse(const char *feature, size_t length) {
  // As in Linux' asm/prctl.h; numbers, because older headers lack them.
  constexpr int requestPermission = 0x1023, tileData = 18;
  return length < 4 || memcmp(feature, "amx-", 4) != 0 ||
         syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

} // namespace nnv12::artifact

#else

bool nnv12::artifact::mayUse(const char *, size_t) { return true; }

#endif
