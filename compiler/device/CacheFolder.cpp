//===- CacheFolder.cpp - A folder whose files are this user's -------------===//

#include "compiler/device/CacheFolder.h"

#include "artifact/AtomicFile.h"
#include "artifact/FolderTrust.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace nnv12::device {

std::string makeCacheFolder(const std::string &folder) {
  for (size_t end = 0; end != std::string::npos;) {
    end = folder.find('/', end + 1);
    std::string path = folder.substr(0, end);
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST &&
        access(path.c_str(), F_OK) != 0)
      return path + ": cannot be made: " + strerror(errno);
  }
  artifact::Fault fault;
  if (!artifact::isTrusted(folder, artifact::Others::Nobody, fault))
    return folder + ": " + fault.text;
  return "";
}

bool isCacheFile(const std::string &path, std::string &error) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    if (errno != ENOENT)
      error = path + ": " + strerror(errno);
    return false;
  }
  bool isOurs = info.st_uid == geteuid() || info.st_uid == 0;
  if (S_ISREG(info.st_mode) && isOurs && !(info.st_mode & (S_IWGRP | S_IWOTH)))
    return true;
  error = path + ": found " +
          (S_ISLNK(info.st_mode)    ? "a link"
           : !S_ISREG(info.st_mode) ? "no regular file"
                                    : "a file that others can write") +
          ", expected a file of this user's alone";
  return false;
}

std::string writeCacheFile(const std::string &path, const std::string &text) {
  std::string error;
  if (!isCacheFile(path, error) && !error.empty() && unlink(path.c_str()) != 0)
    return error;
  artifact::AtomicFile file;
  artifact::Fault fault;
  if (!file.open(path.c_str(), fault, 0600) ||
      !file.write(text.data(), text.size(), fault) ||
      !file.commit(fault, artifact::AtomicFile::Durability::None))
    return path + ": " + fault.text;
  return "";
}

} // namespace nnv12::device
