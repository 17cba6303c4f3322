//===- NonCopyable.h - Base of objects with one owner ----------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_NONCOPYABLE_H
#define NNV12_ARTIFACT_NONCOPYABLE_H

namespace nnv12::artifact {

/// Base of classes whose objects are neither copied nor moved, since they give
/// something back at their end. A member that is such says it for the whole.
class NonCopyable {
protected:
  NonCopyable() = default;
  NonCopyable(const NonCopyable &) = delete;
  NonCopyable &operator=(const NonCopyable &) = delete;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_NONCOPYABLE_H
