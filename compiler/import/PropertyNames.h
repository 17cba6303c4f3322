//===- PropertyNames.h - Names of classes in a text -------------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_PROPERTYNAMES_H
#define NNV12_COMPILER_IMPORT_PROPERTYNAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace nnv12::importer {

/// Reads names from a list or dictionary as Python's str() and JSON write them:
/// ['cat', "dog"], {0: 'cat', 1: 'dog'}, {"0": "cat"}. Numbers of a dictionary
/// are 0 to N - 1, each once, in any order. Empty, or a fault.
std::string parseNames(llvm::StringRef text, std::vector<std::string> &names);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_PROPERTYNAMES_H
