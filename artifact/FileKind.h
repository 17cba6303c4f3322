//===- FileKind.h - Names the kind of an unexpected file ------------------===//
#ifndef NNV12_ARTIFACT_FILEKIND_H
#define NNV12_ARTIFACT_FILEKIND_H

#include <cstddef>

namespace nnv12::artifact {

/// Names the kind of file that begins with these bytes, for messages: "a PNG
/// picture", "a text"; null if no known kind does. Only the first bytes count,
/// so this is a guess: for files that have been refused.
const char *fileKind(const void *data, size_t size);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_FILEKIND_H
