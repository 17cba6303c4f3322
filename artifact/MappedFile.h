//===- MappedFile.h - A file mapped for reading -----------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_MAPPEDFILE_H
#define NNV12_ARTIFACT_MAPPEDFILE_H

#include "artifact/Fault.h"
#include "artifact/NonCopyable.h"

#include <cstddef>
#include <cstdint>

namespace nnv12::artifact {

/// Owns the mapping and the descriptor. An empty file has null data.
class MappedFile : NonCopyable {
public:
  ~MappedFile();

  /// Returns before anything is read, but has asked storage for the first
  /// `wanted` bytes.
  [[nodiscard]] bool open(const char *path, Fault &fault, size_t wanted = 0);
  /// Asks storage for bytes [begin, end), and does not wait for them. Until the
  /// descriptor is closed.
  void askFor(size_t begin, size_t end) const;
  /// Whether the first byte is still on its way from storage.
  bool isWaiting() const;
  /// The mapping stays.
  void closeDescriptor();

  const uint8_t *data() const { return bytes_; }
  size_t size() const { return length_; }
  int descriptor() const { return fd_; }

private:
  const uint8_t *bytes_ = nullptr;
  size_t length_ = 0;
  int fd_ = -1;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_MAPPEDFILE_H
