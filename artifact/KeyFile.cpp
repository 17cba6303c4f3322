//===- KeyFile.cpp - Ed25519 keys in text files ---------------------------===//
#include "artifact/KeyFile.h"

#include "artifact/Hexadecimal.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nnv12::artifact {

static const char *prefixOf(KeyKind kind) {
  return kind == KeyKind::Secret ? "nnv12-secret-key " : "nnv12-public-key ";
}

bool readKeyFile(const char *path, KeyKind kind, uint8_t key[32],
                 Fault &fault) {
  char text[128];
  // O_NONBLOCK: opening a FIFO by mistake must not hang.
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  bool isOpen = fd >= 0 && fstat(fd, &info) == 0;
  bool isRegular = isOpen && S_ISREG(info.st_mode);
  ssize_t size = isRegular ? read(fd, text, sizeof text - 1) : -1;
  int error = errno;
  if (fd >= 0)
    close(fd);
  if (isOpen && !isRegular)
    return fault.set(Fault::Io, "key: found %s, expected a regular file",
                     S_ISDIR(info.st_mode) ? "a folder" : "a special file");
  if (size < 0)
    return fault.set(Fault::Io, "key: cannot read: %s", strerror(error));
  text[size] = 0;

  const char *prefix = prefixOf(kind);
  size_t length = strlen(prefix);
  const char *digits = text + length;
  bool good =
      strncmp(text, prefix, length) == 0 && readHexadecimal(digits, key, 32);
  good = good && strspn(digits + 64, " \r\n") == strlen(digits + 64);
  if (!good)
    return fault.set(Fault::InvalidArgument,
                     "key: not a key file, expected \"%s\" and 64 hexadecimal "
                     "digits",
                     prefix);
  return true;
}

bool othersCanRead(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
         (info.st_mode & (S_IRGRP | S_IROTH));
}

bool writeKeyFile(const char *path, KeyKind kind, const uint8_t key[32],
                  Fault &fault) {
  char text[128];
  int size = snprintf(text, sizeof text, "%s", prefixOf(kind));
  for (int i = 0; i < 32; ++i)
    size += snprintf(text + size, sizeof text - size, "%02x", key[i]);
  text[size++] = '\n';
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                kind == KeyKind::Secret ? 0600 : 0644);
  if (fd < 0)
    return fault.set(Fault::Io, "key: cannot create: %s", strerror(errno));
  bool good = write(fd, text, size) == size && fsync(fd) == 0;
  int error = errno;
  close(fd);
  if (!good) {
    unlink(path);
    return fault.set(Fault::Io, "key: cannot write: %s", strerror(error));
  }
  return true;
}

} // namespace nnv12::artifact
