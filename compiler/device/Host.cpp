//===- Host.cpp - Which machine this is -----------------------------------===//

#include "compiler/device/DeviceProfile.h"

#include <fstream>
#include <set>

#include <unistd.h>

namespace nnv12::device {

std::string hostIdentity() {
  // x86 names the model; Arm gives implementer and part of each core.
  std::ifstream file("/proc/cpuinfo");
  std::string model, implementer, line;
  std::set<std::string> parts;
  while (std::getline(file, line)) {
    size_t colon = line.find(':');
    if (colon == std::string::npos)
      continue;
    std::string key =
        line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    size_t begin = line.find_first_not_of(" \t", colon + 1);
    std::string value = begin == std::string::npos ? "" : line.substr(begin);
    if (key == "model name" && model.empty())
      model = value;
    else if (key == "CPU implementer")
      implementer = value;
    else if (key == "CPU part")
      parts.insert(implementer + "/" + value);
  }
  for (const std::string &part : parts)
    model.append(model.empty() ? "" : " + ").append(part);
  if (model.empty())
    model = "unknown CPU";
  return model + " x " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
}

std::string foreignDevice(const DeviceProfile &profile,
                          const std::string &identity) {
  if (!profile.measured || profile.identity == identity)
    return "";
  return "device profile '" + profile.name + "': identity: found '" +
         profile.identity + "', expected '" + identity + "', this machine";
}

} // namespace nnv12::device
