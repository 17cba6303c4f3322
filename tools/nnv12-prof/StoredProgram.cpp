//===- StoredProgram.cpp - A bundle's file, read again --------------------===//
#include "tools/nnv12-prof/StoredProgram.h"

#include "artifact/Compatibility.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"
#include "tools/common/Report.h"

namespace nnv12::prof {

StoredProgram::StoredProgram(const std::string &path, const Bundle &bundle) {
  artifact::Fault fault;
  const bundle::Bundle *stored = nullptr;
  if (file_.open(path.c_str(), fault))
    stored = artifact::verifyBundle(file_.data(), file_.size(), fault);
  if (!stored)
    tools::fail(path + ": " + fault.text);
  uint32_t number = bundle.info().program;
  if (number >= stored->programs()->size())
    tools::fail(path + ": the file has changed meanwhile");
  program = stored->programs()->Get(number);
  target = artifact::targetOf(stored, program);
  overlays = artifact::gpuOverlaysIn(stored, file_.data());
  if (!artifact::gpuOf(stored, overlays, program))
    overlays = nullptr;
  if (!artifact::verifyVideoIn(stored, file_.data(), fault))
    tools::fail(path + ": " + fault.text);
  const auto *videos = artifact::videoOverlaysIn(stored, file_.data());
  if (videos && artifact::isUnderstood(stored, videos, program, number, fault))
    video = artifact::videoOf(videos, program);
}

} // namespace nnv12::prof
