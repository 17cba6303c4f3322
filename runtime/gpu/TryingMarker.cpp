//===- TryingMarker.cpp - That a driver is being tried --------------------===//
#include "runtime/gpu/TryingMarker.h"

#include "runtime/system/Memory.h"
#include "runtime/system/Threads.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace nnv12::runtime {

using artifact::Digest;
using artifact::Fault;

namespace {

/// Processes that have to die in a driver one after the other. One may have
/// been killed for other reasons while its driver was at work.
constexpr uint32_t mostDeaths = 3;

constexpr char markerMagic[8] = {'n', 'n', 'v', '1', '2', 't', 'r', 'y'};

/// The lock of all markers; held for calls of the system alone.
pthread_mutex_t markers = PTHREAD_MUTEX_INITIALIZER;
TryingMarker *first = nullptr; ///< of those that have a file
pid_t process = 0;             ///< whose they are, not a child's of it

enum class Found { Free, Left, Nothing };

bool put(int file, const TryingMarker::Record &record) {
  return pwrite(file, &record, sizeof record, 0) == sizeof record;
}

/// Whether a file says something of this driver. The record gets the deaths.
bool isKnown(int file, const struct stat &info, TryingMarker::Record &record) {
  TryingMarker::Record found;
  if (info.st_size != sizeof found ||
      pread(file, &found, sizeof found, 0) != sizeof found ||
      memcmp(&found, &record, offsetof(TryingMarker::Record, deaths)) != 0 ||
      found.deaths >= mostDeaths || found.isTrying > 1)
    return false;
  record.deaths = found.deaths + found.isTrying;
  return true;
}

/// Opens and locks the file at `path`, or makes it. Nothing: go on without.
Found take(const char *path, TryingMarker::Record &record, int &file) {
  // Each round ends when somebody else has changed the file meanwhile.
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
    // The process that held it may have removed it before it let it go.
    if (!isGood || fstat(file, &info) != 0 || info.st_nlink == 0) {
      close(file);
      continue;
    }
    bool known = isKnown(file, info, record);
    if (known && record.deaths >= mostDeaths) {
      close(file);
      return Found::Left;
    }
    if ((known || ftruncate(file, 0) == 0) && put(file, record))
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
  if (tries_++ || !path_.begin(folder))
    return true;
  path_.append(device);
  path_.append(".trying");
  memcpy(record_.magic, markerMagic, sizeof markerMagic);
  record_.driver = artifact::digestOf(&device, sizeof device);
  record_.deaths = 0;
  record_.isTrying = 1;
  isProven_ = false;
  Found found = take(path_.text, record_, file_);
  if (found == Found::Free) {
    next_ = first;
    first = this;
    process = getpid();
    return true;
  }
  file_ = -1;
  if (found == Found::Nothing)
    return true;
  tries_ = 0;
  return fault.set(Fault::Unsupported,
                   "%.60s: %u processes died in this driver; to try it again, "
                   "remove %.180s",
                   name, mostDeaths, path_.text);
}

/// Under `markers`.
void TryingMarker::remove() {
  if (file_ < 0)
    return;
  takeOut(first, *this, &TryingMarker::next_);
  // Still locked, so that nobody takes it for one that was left. Earlier deaths
  // are forgotten when all has gone well that they may have died of.
  record_.isTrying = 0;
  if (record_.deaths == 0 || isProven_ || !put(file_, record_))
    unlink(path_.text);
  close(file_);
  file_ = -1;
}

void TryingMarker::end(bool isAll) {
  Lock lock(markers);
  isProven_ |= isAll;
  if (--tries_ == 0)
    remove();
}

void TryingMarker::endAll() {
  // Does not wait: the thread that holds the lock may be the one that ends the
  // process.
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
