//===- Classes.h - The first output as a classification ---------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_RUN_CLASSES_H
#define NNV12_TOOLS_NNV12_RUN_CLASSES_H

#include "tools/nnv12-run/RunCommand.h"

namespace nnv12::run {

/// The names of classes: those of --labels, else the bundle's. None where
/// nobody says them, or where those of the bundle are not for its first output,
/// which is said. Ends the process where those of --labels are not.
std::vector<std::string> chooseLabels(const CommandLine &options,
                                      const Bundle &bundle);

/// A class by its number, and its share of 1.
struct Class {
  size_t number = 0;
  double share = 0;
};

/// The `count` classes with the largest shares, largest first, or all where
/// there are fewer. `scores` is the first output. Ends the process where scores
/// are no numbers.
std::vector<Class> topClasses(const CommandLine &options, const Bundle &bundle,
                              const tools::Tensor &scores, size_t count);

} // namespace nnv12::run

#endif // NNV12_TOOLS_NNV12_RUN_CLASSES_H
