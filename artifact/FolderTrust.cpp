//===- FolderTrust.cpp - Whether others can exchange files ----------------===//
#include "artifact/FolderTrust.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace nnv12::artifact {

/// The user as whom a user namespace shows all that it does not know, root of
/// the system around it among them; ~0 where there is no such namespace.
static uid_t unknownUser() {
  auto readNumbers = [](const char *path, unsigned *numbers) {
    std::unique_ptr<FILE, int (*)(FILE *)> file(fopen(path, "re"), fclose);
    return file ? fscanf(file.get(), "%u %u %u", &numbers[0], &numbers[1],
                         &numbers[2])
                : 0;
  };
  unsigned map[3], user[3];
  bool isWhole = readNumbers("/proc/self/uid_map", map) == 3 && map[0] == 0 &&
                 map[1] == 0 && map[2] == ~0u;
  if (isWhole || readNumbers("/proc/sys/kernel/overflowuid", user) != 1)
    return ~0u;
  return user[0];
}

static bool isOfOthers(uid_t owner) {
  return owner != 0 && owner != geteuid() && owner != unknownUser();
}

bool isTrusted(const std::string &folder, Others allowed, Fault &fault) {
  std::unique_ptr<char, void (*)(void *)> real(
      realpath(folder.c_str(), nullptr), free);
  if (!real)
    return fault.set(Fault::Io, "%s", strerror(errno));
  std::string path = real.get();
  for (bool isFirst = true;; isFirst = false) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0)
      return fault.set(Fault::Io, "%s", strerror(errno));
    if (isFirst && !S_ISDIR(info.st_mode))
      return fault.set(Fault::Io, "%s", strerror(ENOTDIR));
    bool isWritable = info.st_mode & (S_IWGRP | S_IWOTH),
         isSticky = info.st_mode & S_ISVTX,
         mayBeSticky = !isFirst || allowed == Others::NotOurs;
    if (isOfOthers(info.st_uid) || (isWritable && !(isSticky && mayBeSticky)))
      return fault.set(
          Fault::Io,
          "found %s, which others can write (owner %u, mode %04o), expected a "
          "folder of this user's alone%s",
          path.c_str(), unsigned(info.st_uid), unsigned(info.st_mode & 07777),
          mayBeSticky ? " or one with the sticky bit" : "");
    size_t slash = path.rfind('/');
    if (path.size() <= 1)
      return true;
    path.resize(slash ? slash : 1);
  }
}

} // namespace nnv12::artifact
