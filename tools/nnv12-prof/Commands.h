//===- Commands.h - Commands of nnv12-prof ----------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_COMMANDS_H
#define NNV12_TOOLS_NNV12_PROF_COMMANDS_H

namespace nnv12::prof {

// Each returns the exit status.

/// nnv12-prof compare OLD NEW: 1 where the new bundle is slower.
int compareMain(int argc, char **argv);
/// nnv12-prof live FILE.
int liveMain(int argc, char **argv);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_COMMANDS_H
