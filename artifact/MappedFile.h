//===- MappedFile.h - A file mapped for reading -----------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_MAPPEDFILE_H
#define NNV12_ARTIFACT_MAPPEDFILE_H

#include "artifact/Fault.h"

#include <cstddef>
#include <cstdint>

namespace nnv12::artifact {

/// Owns the mapping and the descriptor. An empty file has null data.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  /// Returns before anything is read, but has asked for the head: what a bundle
  /// has before its weights, mostly.
  bool open(const char *path, Fault &fault);
  /// Whether the head is still on its way from storage.
  bool isWaitingForHead() const;
  /// Waits for the first `needed` bytes, and asks for what follows them and
  /// would be read in small pieces otherwise.
  void readAhead(size_t needed) const;
  /// The mapping stays.
  void closeDescriptor();

  const uint8_t *data() const { return bytes; }
  size_t size() const { return length; }
  int descriptor() const { return fd; }

private:
  void askFor(size_t begin, size_t end) const;

  const uint8_t *bytes = nullptr;
  size_t length = 0;
  int fd = -1;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_MAPPEDFILE_H
