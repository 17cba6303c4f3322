//===- RecordFile.cpp - Recordings in files -------------------------------===//
#include "tools/common/RecordFile.h"

#include "artifact/Hexadecimal.h"
#include "tools/common/Report.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nnv12::tools {

/// Makes the file under another name first: a reader that sees it by its own
/// name sees all of it, and readers of an older file of that name keep that.
RecordFile::RecordFile(const std::string &path, const Bundle &bundle,
                       const SessionOptions &options, nnv12_record_level level,
                       uint32_t runs, const nnv12_counter_source *counters) {
  recorder_.counters = counters;
  nnv12_session_options c = options.get();
  c.recorder = &recorder_;
  recorder_.size = nnv12_recorder_size(bundle.get(), &c, level, runs);
  recorder_.level = level;
  // Made with mode 0600.
  std::string temporary = path + ".XXXXXX";
  int file = mkstemp(temporary.data());
  auto refuse = [&](const char *what) {
    int error = errno;
    if (file >= 0)
      unlink(temporary.c_str());
    fail(path + ": cannot " + what + ": " + strerror(error));
  };
  if (file < 0)
    refuse("create");
  // Room is taken now: a full disk would end the process later.
  if (int error = posix_fallocate(file, 0, off_t(recorder_.size))) {
    errno = error;
    refuse("take room for the recording");
  }
  recorder_.memory = mmap(nullptr, recorder_.size, PROT_READ | PROT_WRITE,
                          MAP_SHARED, file, 0);
  if (recorder_.memory == MAP_FAILED)
    refuse("map");
  close(file);
  if (rename(temporary.c_str(), path.c_str()) != 0)
    refuse("rename");
}

RecordFile::~RecordFile() { munmap(recorder_.memory, recorder_.size); }

static std::string viewedPath;

/// A file that is cut while it is mapped has no bytes behind its new end.
static void sayCut(int) {
  static constexpr char rest[] = ": was cut while it was read\n";
  (void)!write(2, viewedPath.data(), viewedPath.size());
  (void)!write(2, rest, sizeof rest - 1);
  _exit(1);
}

RecordView::RecordView(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0)
    fail(path + ": cannot open: " + strerror(errno));
  if (!S_ISREG(status.st_mode))
    fail(path + ": found " +
         (S_ISDIR(status.st_mode) ? "a folder" : "a special file") +
         ", expected a regular file");
  length_ = size_t(status.st_size);
  if (length_ == 0)
    fail(path + ": found an empty file, expected a recording");
  bytes_ = mmap(nullptr, length_, PROT_READ, MAP_SHARED, file, 0);
  if (bytes_ == MAP_FAILED)
    fail(path + ": cannot map: " + strerror(errno));
  close(file);
  viewedPath = std::string(toolName()) + ": " + path;
  signal(SIGBUS, sayCut);
}

RecordView::~RecordView() { munmap(bytes_, length_); }

Recording openRecording(const std::string &path, const RecordView &view) {
  try {
    return Recording(view.data(), view.size());
  } catch (const Error &error) {
    fail(path + ": " + error.what());
  }
}

void checkBundle(const std::string &path, const nnv12_recording_info &info,
                 const std::string &bundlePath, const Bundle &bundle) {
  nnv12_bundle_info expected = bundle.info();
  if (memcmp(info.digest, expected.digest, 32) != 0)
    fail(path + ": bundle: found " + artifact::hexadecimal(info.digest, 4) +
         "..., expected " + artifact::hexadecimal(expected.digest, 4) +
         "..., the digest of " + bundlePath);
  if (info.program != expected.program)
    fail(path + ": program: found number " + std::to_string(info.program) +
         " of the bundle's, expected " + std::to_string(expected.program) +
         ", which is " + expected.target + "; see --target");
}

} // namespace nnv12::tools
