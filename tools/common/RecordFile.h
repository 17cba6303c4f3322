//===- RecordFile.h - Recordings in files -----------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_RECORDFILE_H
#define NNV12_TOOLS_COMMON_RECORDFILE_H

#include "artifact/NonCopyable.h"
#include "runtime/include/nnv12.hpp"

#include <string>

namespace nnv12::tools {

/// A file that a session writes its recording to, for others to read meanwhile
/// or later. Only its owner may.
class RecordFile : artifact::NonCopyable {
public:
  /// Takes the place of a file of that name. Ends the process when it cannot be
  /// made.
  RecordFile(const std::string &path, const Bundle &bundle,
             const SessionOptions &options, nnv12_record_level level,
             uint32_t runs, const nnv12_counter_source *counters);
  /// The session must be gone.
  ~RecordFile();

  /// For SessionOptions.
  const nnv12_recorder *get() const { return &recorder_; }

private:
  nnv12_recorder recorder_ = NNV12_RECORDER_INIT(nullptr, 0);
};

/// The memory of a recording in a file that somebody else may be writing to.
class RecordView : artifact::NonCopyable {
public:
  /// Ends the process when the file cannot be read.
  explicit RecordView(const std::string &path);
  ~RecordView();

  const void *data() const { return bytes_; }
  size_t size() const { return length_; }

private:
  void *bytes_;
  size_t length_;
};

/// Opens the recording in a view of `path`. Ends the process with one line when
/// it is none.
Recording openRecording(const std::string &path, const RecordView &view);

/// Ends the process with one line unless the recording at `path` is of the
/// bundle at `bundlePath`, and of the program that was chosen of it.
void checkBundle(const std::string &path, const nnv12_recording_info &info,
                 const std::string &bundlePath, const Bundle &bundle);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_RECORDFILE_H
