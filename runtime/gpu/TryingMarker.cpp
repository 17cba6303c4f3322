//===- TryingMarker.cpp - That a driver is being tried --------------------===//
#include "runtime/gpu/TryingMarker.h"

#include "runtime/gpu/Lock.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace nnv12::runtime {

using artifact::Digest;
using artifact::Fault;

namespace {

/// All that a marker's file holds.
struct Record {
  char magic[8];
  Digest driver; ///< and device: of the CacheKey
};

/// Of all markers; held for calls of the system alone.
pthread_mutex_t markers = PTHREAD_MUTEX_INITIALIZER;
TryingMarker *first = nullptr; ///< of those that have a file
pid_t process = 0;             ///< whose they are, not a child's of it

enum class Found { Free, Left, Nothing };

/// Opens and locks the file at `path`, or makes it. Nothing: go on without.
Found take(const char *path, const Record &wanted, int &file) {
  // Each round ends with what somebody else has changed meanwhile.
  for (int round = 0; round < 8; ++round) {
    file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                0600);
    if (file < 0) {
      // A link leads to a file of somebody's.
      if (errno == ELOOP && unlink(path) == 0)
        continue;
      return Found::Nothing;
    }
    struct stat info;
    bool isGood = isOurs(file, info) && info.st_nlink <= 1;
    if (!isGood && unlink(path) != 0) {
      close(file);
      return Found::Nothing;
    }
    if (isGood && flock(file, LOCK_EX | LOCK_NB) != 0) {
      close(file);
      return Found::Nothing;
    }
    // Who had it may have removed it before it let it go.
    if (!isGood || fstat(file, &info) != 0 || info.st_nlink == 0) {
      close(file);
      continue;
    }
    Record found;
    if (info.st_size == sizeof found &&
        pread(file, &found, sizeof found, 0) == sizeof found &&
        memcmp(&found, &wanted, sizeof found) == 0) {
      close(file);
      return Found::Left;
    }
    if (ftruncate(file, 0) == 0 &&
        pwrite(file, &wanted, sizeof wanted, 0) == sizeof wanted)
      return Found::Free;
    unlink(path);
    close(file);
    return Found::Nothing;
  }
  return Found::Nothing;
}

} // namespace

bool TryingMarker::begin(const char *folder, const CacheKey &device,
                         const char *name, Fault &fault) {
  Lock lock(markers);
  if (tries++ || !path.begin(folder))
    return true;
  path.append(device);
  path.append(".trying");
  Record wanted = {{'n', 'n', 'v', '1', '2', 't', 'r', 'y'},
                   artifact::digestOf(&device, sizeof device)};
  switch (take(path.text, wanted, file)) {
  case Found::Free:
    next = first;
    first = this;
    process = getpid();
    return true;
  case Found::Nothing:
    file = -1;
    return true;
  case Found::Left:
    break;
  }
  file = -1;
  tries = 0;
  return fault.set(Fault::Unsupported,
                   "%.60s: a process died in its driver, which is not tried "
                   "again before it is another one, or %.180s is removed",
                   name, path.text);
}

/// Under `markers`.
void TryingMarker::remove() {
  if (file < 0)
    return;
  for (TryingMarker **it = &first; *it; it = &(*it)->next)
    if (*it == this) {
      *it = next;
      break;
    }
  // Still locked, so that nobody takes it for one that was left.
  unlink(path.text);
  close(file);
  file = -1;
}

void TryingMarker::end() {
  Lock lock(markers);
  if (--tries == 0)
    remove();
}

void TryingMarker::endAll() {
  // Not at any price: what holds it may be what ends the process.
  if (pthread_mutex_trylock(&markers) != 0)
    return;
  while (first && process == getpid())
    first->remove();
  pthread_mutex_unlock(&markers);
}

/// A process that ends in order while its GPU is being prepared, which it need
/// not wait for, has not died of that.
__attribute__((destructor)) static void endMarkers() { TryingMarker::endAll(); }

} // namespace nnv12::runtime
