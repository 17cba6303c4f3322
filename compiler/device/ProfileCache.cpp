//===- ProfileCache.cpp - The times measured on this machine --------------===//

#include "compiler/device/ProfileCache.h"

#include "artifact/Digest.h"
#include "artifact/Hexadecimal.h"
#include "compiler/device/CacheFolder.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace nnv12::device {

/// 16 hexadecimal digits.
static std::string shortDigest(const std::string &text) {
  artifact::Digest digest = artifact::digestOf(text.data(), text.size());
  return artifact::hexadecimal(digest.bytes, 8);
}

ProfileCache::ProfileCache(const std::string &folder,
                           const std::string &identity,
                           const std::string &target)
    : folder(folder), identity(identity), target(target),
      path_(folder + "/" + shortDigest(identity + "\n" + baseOf(target)) +
            ".json") {}

std::optional<DeviceProfile> ProfileCache::read(std::string &error) const {
  if (!isCacheFile(path_, error))
    return std::nullopt;
  auto profile = readProfile(path_, error);
  if (!profile)
    return std::nullopt;
  // A file can have come under this name in many ways.
  if (profile->measured && profile->identity == identity &&
      baseOf(profile->target) == baseOf(target))
    return profile;
  error = path_ + ": found the profile of another device or target";
  return std::nullopt;
}

namespace {
/// Held while a file is read, changed and written.
class Lock {
public:
  explicit Lock(const std::string &path)
      : fd(open(path.c_str(), O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC,
                0600)) {
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
  profile.name = identity;
  std::string error = makeCacheFolder(folder);
  if (!error.empty())
    return error;
  Lock lock(path_ + ".lock");
  auto known = read(error);
  if (known && known->revision == profile.revision &&
      known->tune == profile.tune) {
    for (const auto &[key, time] : profile.kernels) {
      // A known time stays, so that a second compile plans with it again.
      auto [same, isNew] = known->kernels.try_emplace(key, time);
      std::vector<double> &inModel = same->second.inModel;
      inModel.resize(std::max(inModel.size(), time.inModel.size()));
      for (size_t i = 0; i < time.inModel.size(); ++i)
        if (inModel[i] == 0)
          inModel[i] = time.inModel[i];
    }
    known->efficiency.merge(profile.efficiency);
    known->target = greaterTarget(known->target, profile.target);
    profile = std::move(*known);
  }
  // A profile that could not be read back is not written.
  std::string text = printProfile(profile);
  auto same = parseProfile(text, path_, error);
  if (!same)
    return error;
  error = writeCacheFile(path_, text);
  // The profile that a later read() would give, to the last digit.
  if (error.empty())
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
