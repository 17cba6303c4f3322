//===- FileKind.h - What a file is that was expected to be another --------===//
#ifndef NNV12_ARTIFACT_FILEKIND_H
#define NNV12_ARTIFACT_FILEKIND_H

#include <cstddef>

namespace nnv12::artifact {

/// What the bytes look like, for messages: "a PNG picture", "a text"; null
/// where they look like nothing that is known. Looks at the first bytes alone,
/// and so is a guess: for files that have been refused.
const char *fileKind(const void *data, size_t size);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_FILEKIND_H
