//===- RecordingFuzzer.cpp - Recordings of any bytes ----------------------===//
//
// A recording is memory that a stranger may have written, and may write to
// while it is read. Its records go through all code that makes a profile.
//
//===----------------------------------------------------------------------===//
#include "artifact/Writer.h"
#include "test/unit/sample/GpuSample.h"
#include "tools/common/Traces.h"
#include "tools/nnv12-prof/Profile.h"

#include <cstdlib>
#include <cstring>
#include <memory>

using namespace nnv12;

namespace {

/// One that has lanes, switches and a part for GPUs.
struct SampleFile {
  SampleFile() {
    if (!artifact::writeBundle(sample.bundle, path).empty())
      abort();
    bundle = std::make_unique<Bundle>(path);
    machine.multiplyAdds = 100;
    machine.memory = {{1e6, 200}, {64e6, 20}};
    machine.faultNs = 1000;
    machine.speed = 0.5;
  }

  test::GpuSample sample{2};
  test::TemporaryFolder folder;
  std::string path = folder.file("a.nnv");
  std::unique_ptr<Bundle> bundle;
  prof::Machine machine;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Exactly as large as it is, for AddressSanitizer.
  size_t lines = (size + 63) / 64 * 64;
  void *memory = aligned_alloc(64, lines ? lines : 64);
  memset(memory, 0, lines);
  if (size)
    memcpy(memory, data, size);
  nnv12_recording *opened;
  nnv12_error error = {};
  if (nnv12_recording_open(memory, lines, &opened, &error) != NNV12_OK) {
    // One line, and a reason.
    if (!*error.message || strchr(error.message, '\n') || opened)
      abort();
    free(memory);
    return 0;
  }
  nnv12_recording_close(opened);
  {
    Recording recording(memory, lines);
    tools::Recorded recorded;
    recorded.read(recording);
    static const SampleFile file;
    const Bundle &bundle = *file.bundle;
    prof::Profile profile = prof::makeProfile(bundle, recorded, file.machine);
    prof::StoredProgram stored(file.path, bundle);
    profile.gpu = prof::findGpuPreparing(stored, recorded);
    prof::profileJson(file.path, bundle, profile);
    prof::profilePage(file.path, stored, bundle, recorded, profile);
    prof::kernelTable("file", bundle, profile, true);
    tools::chromeTrace(bundle, recorded);
    tools::perfettoTrace(bundle, recorded);
  }
  free(memory);
  return 0;
}
