//===- Properties.h - A bundle's properties of its model --------*- C++ -*-===//
//
// Keys that mean the same in every bundle: docs/tools.md.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_COMMON_PROPERTIES_H
#define NNV12_TOOLS_COMMON_PROPERTIES_H

#include "runtime/include/nnv12.hpp"
#include "tools/common/ImageInput.h"
#include "tools/common/SoundInput.h"

#include <string>
#include <vector>

namespace nnv12::tools {

/// How pixels become the bundle's input: as the arguments say, else the bundle,
/// else the defaults. Ends the process where the bundle's property is none that
/// can be taken. `path`: of the bundle, for messages.
ImageOptions imageOptions(const std::string &path, const Bundle &bundle,
                          const ImageArguments &arguments);

/// How samples become the bundle's input: as the arguments say, else the
/// bundle. Ends the process where neither says the rate.
SoundOptions soundOptions(const std::string &path, const Bundle &bundle,
                          const SoundArguments &arguments);

/// The names of classes that the bundle has; none: it has none.
std::vector<std::string> labelsOf(const Bundle &bundle);

/// The lines of a text, without their ends; "\r\n" is one, too.
std::vector<std::string> splitLines(const std::string &text);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_PROPERTIES_H
