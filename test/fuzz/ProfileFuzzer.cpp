//===- ProfileFuzzer.cpp - Device profiles of any bytes -------------------===//
//
// A profile says what things cost, and anybody may have written it: numbers
// that are read are in range, and are the same when they are written and read
// again.
//
//===----------------------------------------------------------------------===//
#include "compiler/device/DeviceProfile.h"

#include <cstdint>
#include <cstdlib>

using namespace nnv12;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size), error;
  auto profile = device::parseProfile(text, "p.json", error);
  if (!profile) {
    if (error.rfind("p.json", 0) != 0 || error.find('\n') != std::string::npos)
      abort();
    return 0;
  }
  std::string printed = device::printProfile(*profile);
  auto again = device::parseProfile(printed, "p.json", error);
  if (!again || device::printProfile(*again) != printed)
    abort();
  return 0;
}
