//===- CompareMain.h - nnv12-prof compare OLD NEW ---------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_COMPAREMAIN_H
#define NNV12_TOOLS_NNV12_PROF_COMPAREMAIN_H

namespace nnv12::prof {

/// The command; returns the exit status: 1 where the new bundle is slower.
int compareMain(int argc, char **argv);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_COMPAREMAIN_H
