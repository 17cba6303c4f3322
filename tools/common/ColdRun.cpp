//===- ColdRun.cpp - Fresh processes with an empty page cache -------------===//
#include "tools/common/ColdRun.h"

#include "artifact/MappedFile.h"
#include "artifact/Verifier.h"
#include "tools/common/Clock.h"
#include "tools/common/Files.h"
#include "tools/common/Report.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace nnv12::tools {

double residency(int fd, size_t size) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapping == MAP_FAILED)
    return 0;
  std::vector<unsigned char> pages((size + page - 1) / page);
  size_t resident = 0;
  if (mincore(mapping, size, pages.data()) == 0)
    for (unsigned char state : pages)
      resident += state & 1;
  munmap(mapping, size);
  return double(resident) / double(pages.size());
}

void backMemory(size_t size) {
  // The system may hand out other free huge pages first, that were there
  // before. With a few hundred megabytes of them in its lists, cold runs of
  // large models took twice as long every other time.
  constexpr size_t megabyte = 1 << 20;
  size += std::min(64 * megabyte + 3 * size, 512 * megabyte);
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t available = static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
  size = std::min(size, available / 4);
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  madvise(memory, size, MADV_HUGEPAGE);
  for (size_t i = 0; i < size; i += page)
    static_cast<volatile uint8_t *>(memory)[i] = 1;
  munmap(memory, size);
}

double evict(const std::string &path, bool dropCaches, bool backs) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0)
    fail(path + ": cannot open: " + strerror(errno));
  // Pages that were not written back yet stay.
  fdatasync(fd);
  if (dropCaches) {
    static constexpr char file[] = "/proc/sys/vm/drop_caches";
    int control = open(file, O_WRONLY | O_CLOEXEC);
    if (control < 0 || write(control, "3", 1) != 1)
      fail(std::string("--drop-caches: ") + file + ": " + strerror(errno));
    close(control);
  }
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  // The file's pages, and the process's.
  if (backs)
    backMemory(static_cast<size_t>(info.st_size));
  double result = residency(fd, static_cast<size_t>(info.st_size));
  close(fd);
  return result;
}

ColdReport runFresh(char **argv, const std::string &extra) {
  int channel[2];
  if (pipe(channel) != 0)
    fail(std::string("cannot make a pipe: ") + strerror(errno));
  fcntl(channel[0], F_SETFD, FD_CLOEXEC);
  std::vector<char *> arguments;
  for (char **a = argv; *a; ++a)
    arguments.push_back(*a);
  std::string reportTo = "--report-to=" + std::to_string(channel[1]);
  std::string option = extra;
  arguments.insert(arguments.begin() + 1, {&reportTo[0], &option[0]});
  arguments.push_back(nullptr);

  pid_t child;
  double start = milliseconds();
  int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr,
                          arguments.data(), environ);
  if (error)
    fail(std::string("cannot start a process: ") + strerror(error));
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  close(channel[1]);
  ColdReport report;
  ssize_t size = read(channel[0], &report, sizeof report);
  close(channel[0]);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || size != sizeof report)
    fail("cold run: the process failed with status " + std::to_string(status));
  report.process = report.end - start;
  return report;
}

/// Writes all of `size` bytes at `offset`.
static void writeAll(int descriptor, const void *data, size_t size,
                     size_t offset) {
  while (size) {
    ssize_t n = pwrite(descriptor, data, size, static_cast<off_t>(offset));
    if (n <= 0)
      fail(std::string("cannot hand over inputs: ") + strerror(errno));
    data = static_cast<const uint8_t *>(data) + n;
    offset += static_cast<size_t>(n);
    size -= static_cast<size_t>(n);
  }
}

// Their number, their sizes, and the bytes of each from a multiple of 64.

static size_t alignTo64(size_t size) { return (size + 63) & ~size_t(63); }
static size_t inputsBegin(size_t count) {
  return alignTo64((count + 1) * sizeof(uint64_t));
}

unsigned handInputs(const std::vector<Tensor> &inputs) {
  int descriptor = memfd_create("inputs", 0);
  if (descriptor < 0)
    fail(std::string("cannot hand over inputs: ") + strerror(errno));
  std::vector<uint64_t> head = {inputs.size()};
  size_t offset = inputsBegin(inputs.size());
  for (const Tensor &input : inputs) {
    head.push_back(input.data.size());
    writeAll(descriptor, input.data.data(), input.data.size(), offset);
    offset += alignTo64(input.data.size());
  }
  writeAll(descriptor, head.data(), head.size() * sizeof(uint64_t), 0);
  return static_cast<unsigned>(descriptor);
}

std::vector<Input> takeInputs(unsigned descriptor) {
  struct stat info;
  if (fstat(static_cast<int>(descriptor), &info) != 0)
    fail(std::string("cannot take inputs: ") + strerror(errno));
  void *mapping =
      mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ,
           MAP_SHARED | MAP_POPULATE, static_cast<int>(descriptor), 0);
  if (mapping == MAP_FAILED)
    fail(std::string("cannot take inputs: ") + strerror(errno));
  auto *bytes = static_cast<const uint8_t *>(mapping);
  auto *head = static_cast<const uint64_t *>(mapping);
  size_t offset = inputsBegin(head[0]);
  std::vector<Input> inputs;
  for (uint64_t i = 0; i < head[0]; ++i) {
    inputs.push_back({bytes + offset, head[i + 1]});
    offset += alignTo64(head[i + 1]);
  }
  return inputs;
}

/// The bundle's ranges of weights, as offset and size.
static std::vector<std::pair<uint64_t, uint64_t>>
weightRanges(const std::string &path) {
  artifact::Fault fault;
  artifact::MappedFile file;
  failIf(openInput(path, file));
  const bundle::Bundle *bundle =
      artifact::verifyBundle(file.data(), file.size(), fault);
  if (!bundle)
    fail(path + ": " + fault.text);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const bundle::Segment *segment : *bundle->segments())
    if (segment->kind() == bundle::SegmentKind_Weights)
      ranges.push_back({segment->offset(), segment->size()});
  return ranges;
}

double touchWeights(const std::string &path, bool backs, double &residency) {
  auto ranges = weightRanges(path);
  // Reading the metadata has brought in the pages behind it, too: with a large
  // readahead all of a small file.
  residency = evict(path, false, backs);
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  artifact::Fault fault;
  double start = milliseconds();
  artifact::MappedFile file;
  if (!file.open(path.c_str(), fault))
    fail(path + ": " + fault.text);
  const volatile uint8_t *bytes = file.data();
  for (auto [offset, size] : ranges)
    for (uint64_t i = 0; i < size; i += page)
      (void)bytes[offset + i];
  return milliseconds() - start;
}

void sendReport(unsigned descriptor, const ColdReport &report) {
  if (write(static_cast<int>(descriptor), &report, sizeof report) !=
      sizeof report)
    fail(std::string("cannot report: ") + strerror(errno));
}

uint64_t peakMemory() {
  std::ifstream file("/proc/self/status");
  std::string word;
  uint64_t kilobytes = 0;
  while (file >> word)
    if (word == "VmHWM:")
      file >> kilobytes;
  return kilobytes * 1024;
}

void forgetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5"; }

} // namespace nnv12::tools
