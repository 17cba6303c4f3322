//===- ProfileCache.h - The times measured on this machine ------*- C++ -*-===//
//
// One file a device and base of targets: a device profile like those that
// nnv12-tune writes, so that it can be looked at and given to --profile. One
// file rather than one a kernel, because models have hundreds and all that is
// known of the device goes with them.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_DEVICE_PROFILECACHE_H
#define NNV12_COMPILER_DEVICE_PROFILECACHE_H

#include "compiler/device/DeviceProfile.h"

namespace nnv12::device {

class ProfileCache {
public:
  /// Nothing is touched yet.
  ProfileCache(const std::string &folder, const std::string &identity,
               const std::string &target);

  const std::string &path() const { return path_; }

  /// The remembered profile, of any code revision; nothing where there is no
  /// file. If a file is of no use, a truncated one, no profile, one of another
  /// version, device or target, a link, or one that others can write, `error`
  /// becomes a line that says so. The folder is taken to be this user's
  /// (makeCacheFolder).
  std::optional<DeviceProfile> read(std::string &error) const;

  /// Adds `profile`'s kernels, and all else that it knows where nothing is
  /// remembered yet. Remembered times stay: if two compiles measured
  /// the same kernels at once, both end with the times of the first. Kernels of
  /// another code revision than the profile's are forgotten. `profile`
  /// becomes the one that a later read() gives. Makes the folder, for this user
  /// alone, and writes nothing where others can write it. Returns a line,
  /// without a line end, where it cannot be written; `profile` is complete then
  /// too.
  std::string add(DeviceProfile &profile) const;

private:
  std::string folder, identity, target;
  std::string path_;
};

/// $XDG_CACHE_HOME/nnv12, else ~/.cache/nnv12; "" where neither is known.
std::string defaultCacheFolder();

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_PROFILECACHE_H
