//===- ProfileCache.cpp - What was measured on this machine ---------------===//

#include "compiler/device/ProfileCache.h"

#include "artifact/Digest.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace nnv12::device {

/// 16 hexadecimal digits.
static std::string shortDigest(const std::string &text) {
  artifact::Digest digest = artifact::digestOf(text.data(), text.size());
  std::string hex;
  for (int i = 0; i < 8; ++i) {
    static constexpr char digits[] = "0123456789abcdef";
    hex += digits[digest.bytes[i] >> 4];
    hex += digits[digest.bytes[i] & 15];
  }
  return hex;
}

ProfileCache::ProfileCache(const std::string &folder,
                           const std::string &identity,
                           const std::string &target,
                           const std::string &revision)
    : folder(folder), identity(identity), target(target),
      name(identity + ", code " + revision),
      path_(folder + "/" +
            shortDigest(identity + "\n" + target + "\n" + revision) + ".json") {
}

std::optional<DeviceProfile> ProfileCache::read() const {
  std::string error;
  // A file of the same name as a shipped profile there is not: names are
  // digests.
  auto profile = readProfile(path_, error);
  // A file can have come under this name in many ways.
  if (!profile || !profile->measured || profile->identity != identity ||
      profile->target != target || profile->name != name)
    return std::nullopt;
  return profile;
}

namespace {
/// Held while a file is read, changed and written.
class Lock {
public:
  explicit Lock(const std::string &path)
      : fd(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    // Where it cannot be had, two compiles at once may forget each other's
    // kernels.
    if (fd >= 0)
      while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
        continue;
  }
  ~Lock() {
    if (fd >= 0)
      close(fd);
  }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  int fd;
};
} // namespace

std::string ProfileCache::add(DeviceProfile &profile) const {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  profile.name = name;
  if (code)
    return folder + ": cannot be made: " + code.message();
  Lock lock(path_ + ".lock");
  if (auto known = read()) {
    known->kernels.merge(profile.kernels);
    known->efficiency.merge(profile.efficiency);
    profile = std::move(*known);
  }
  std::string error = writeProfile(profile, path_);
  // What a later read() would give, to the last digit.
  if (error.empty())
    if (auto same = read())
      profile = std::move(*same);
  return error;
}

std::string defaultCacheFolder() {
  for (auto [variable, rest] : {std::pair("XDG_CACHE_HOME", "/nnv12"),
                                std::pair("HOME", "/.cache/nnv12")})
    if (const char *value = getenv(variable); value && *value == '/')
      return std::string(value) + rest;
  return "";
}

} // namespace nnv12::device
