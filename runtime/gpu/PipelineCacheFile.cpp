//===- PipelineCacheFile.cpp - Keeps a driver's compiled code -------------===//
#include "runtime/gpu/PipelineCacheFile.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nnv12::runtime {

using artifact::Digest;

static constexpr char magic[8] = {'n', 'n', 'v', '1', '2', 'v', 'k', 'c'};
/// The version of this layout and of the way pipelines are made.
static constexpr uint32_t version = 1;

void PipelineCacheFile::open(const char *folder, const CacheKey &device,
                             const Digest &modules) {
  memcpy(expected_.magic, magic, sizeof magic);
  expected_.version = version;
  expected_.pointerBytes = sizeof(void *);
  expected_.modules = modules;
  expected_.device = device;
  if (!path_.begin(folder))
    return;
  // The name depends on the device alone, not on its driver: a new driver's
  // file replaces the old one's.
  path_.append(modules);
  path_.append("-");
  path_.append(device);
  path_.append(".vkc");
  if (!read() || !isGood())
    forget();
}

bool PipelineCacheFile::read() {
  // Opens without waiting for a process that writes to a pipe.
  int file = ::open(path_.text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return false;
  struct stat info;
  bool good = isOurs(file, info) &&
              static_cast<size_t>(info.st_size) > sizeof(Header) &&
              static_cast<size_t>(info.st_size) <= mostBytes &&
              bytes_.allocate(static_cast<size_t>(info.st_size));
  for (size_t done = 0; good && done < bytes_.size();) {
    ssize_t n = ::read(file, bytes_.data() + done, bytes_.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    good = n > 0;
    done += good ? static_cast<size_t>(n) : 0;
  }
  close(file);
  return good;
}

bool PipelineCacheFile::isGood() const {
  Header found;
  memcpy(&found, bytes_.data(), sizeof found);
  Header wanted = expected_;
  wanted.size = size();
  wanted.digest = artifact::digestOf(bytes_.data() + offsetof(Header, version),
                                     bytes_.size() - offsetof(Header, version));
  if (memcmp(&found, &wanted, sizeof found) != 0)
    return false;
  // The driver's own header comes first, as Vulkan defines it.
  VkPipelineCacheHeaderVersionOne head;
  if (size() < sizeof head)
    return false;
  memcpy(&head, data(), sizeof head);
  return head.headerSize >= sizeof head && head.headerSize <= size() &&
         head.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         head.vendorID == expected_.device.vendor &&
         head.deviceID == expected_.device.device &&
         memcmp(head.pipelineCacheUUID, expected_.device.cacheUuid,
                VK_UUID_SIZE) == 0;
}

void *PipelineCacheFile::room(size_t size) {
  if (isOff() || size > mostBytes - sizeof(Header) ||
      !next_.allocate(sizeof(Header) + size))
    return nullptr;
  return next_.data() + sizeof(Header);
}

bool PipelineCacheFile::write(size_t size) {
  // Data that hold nothing but the driver's header, or nothing new, are not
  // worth a file.
  if (size <= sizeof(VkPipelineCacheHeaderVersionOne) ||
      (size == this->size() &&
       memcmp(data(), next_.data() + sizeof(Header), size) == 0))
    return false;
  Header header = expected_;
  header.size = size;
  size_t whole = sizeof header + size;
  memcpy(next_.data(), &header, sizeof header);
  header.digest = artifact::digestOf(next_.data() + offsetof(Header, version),
                                     whole - offsetof(Header, version));
  memcpy(next_.data(), &header, sizeof header);
  // No other writer has this name: neither a process nor a session.
  static std::atomic<uint32_t> counter{0};
  char temporary[sizeof path_.text + 32];
  snprintf(temporary, sizeof temporary, "%s.%d.%u", path_.text, int(getpid()),
           counter.fetch_add(1, std::memory_order_relaxed));
  int file = ::open(temporary,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return false;
  bool good = true;
  for (size_t done = 0; good && done < whole;) {
    ssize_t n = ::write(file, next_.data() + done, whole - done);
    if (n < 0 && errno == EINTR)
      continue;
    good = n > 0;
    done += good ? static_cast<size_t>(n) : 0;
  }
  // Some file systems report a full disk only here. Nothing is flushed to the
  // disk: a file that a power cut tears is as good as none.
  good = close(file) == 0 && good && rename(temporary, path_.text) == 0;
  if (!good)
    unlink(temporary);
  return good;
}

} // namespace nnv12::runtime
