//===- RunCommand.h - The command line of nnv12-run -------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_RUN_RUNCOMMAND_H
#define NNV12_TOOLS_NNV12_RUN_RUNCOMMAND_H

#include "tools/common/Compare.h"
#include "tools/common/Loading.h"
#include "tools/common/VideoInput.h"

namespace nnv12::run {

struct CommandLine {
  std::string bundle;
  std::string trace;
  std::string outputDir;
  std::string expect;
  std::string saveInputs;
  std::string labels;
  std::string json; ///< of the frames of a video
  tools::Tolerance tolerance;
  unsigned runs = 1;
  unsigned top = 5;
  unsigned deadline = 0; ///< milliseconds; 0: none
  bool settle = false;
  bool profile = false;
  bool time = false;
  tools::LoadOptions load;
  tools::RunOptions session;
  tools::InputOptions input;
  tools::VideoOptions video;
};

} // namespace nnv12::run

#endif // NNV12_TOOLS_NNV12_RUN_RUNCOMMAND_H
