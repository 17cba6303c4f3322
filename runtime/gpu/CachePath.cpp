//===- CachePath.cpp - Where files about a device lie ---------------------===//
#include "runtime/gpu/CachePath.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace nnv12::runtime {

/// Whether others can replace files of a folder.
static bool isOfOthers(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
         (info.st_uid != geteuid() || (info.st_mode & 022));
}

bool CachePath::begin(const char *folder) {
  constexpr size_t most = 400;
  if (folder) {
    bool good =
        *folder &&
        snprintf(text, sizeof text, "%.*s/", int(most), folder) <= int(most) &&
        !isOfOthers(text);
    if (!good)
      *text = 0;
    return good;
  }
#ifdef __GLIBC__
  // A program that runs with others' rights leaves their folders alone.
  const char *base = secure_getenv("XDG_CACHE_HOME"),
             *home = secure_getenv("HOME");
#else
  const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
#endif
  const char *below = "";
  if (!base || *base != '/') {
    base = home;
    below = "/.cache";
  }
  if (!base || *base != '/' || strlen(base) > most - 32)
    return false;
  snprintf(text, sizeof text, "%s%s", base, below);
  mkdir(text, 0700);
  append("/nnv12");
  if ((mkdir(text, 0700) != 0 && errno != EEXIST) || isOfOthers(text)) {
    *text = 0;
    return false;
  }
  append("/");
  return true;
}

void CachePath::append(const char *more) {
  size_t length = strlen(text);
  snprintf(text + length, sizeof text - length, "%s", more);
}

void CachePath::append(const artifact::Digest &digest) {
  for (int i = 0; i < 8; ++i) {
    char two[3];
    snprintf(two, sizeof two, "%02x", digest.bytes[i]);
    append(two);
  }
}

void CachePath::append(const CacheKey &device) {
  struct {
    uint32_t vendor, device;
    uint8_t uuid[VK_UUID_SIZE];
  } name = {device.vendor, device.device, {}};
  memcpy(name.uuid, device.deviceUuid, sizeof name.uuid);
  append(artifact::digestOf(&name, sizeof name));
}

bool isOurs(int file, struct stat &info) {
  return fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
         info.st_uid == geteuid() && !(info.st_mode & 022);
}

} // namespace nnv12::runtime
