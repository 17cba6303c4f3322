//===- RecordingFuzzer.cpp - Recordings of any bytes ----------------------===//
//
// A recording is memory that a stranger may have written, and may write to
// while it is read. What comes of it goes through all that a profile is made
// of.
//
//===----------------------------------------------------------------------===//
#include "artifact/Writer.h"
#include "test/unit/sample/PlannedSample.h"
#include "tools/common/ChromeTrace.h"
#include "tools/common/PerfettoTrace.h"
#include "tools/nnv12-prof/Profile.h"

#include <cstdlib>
#include <cstring>

using namespace nnv12;

/// One that has lanes and switches.
static const Bundle &sampleBundle() {
  static const auto *bundle = [] {
    static test::PlannedSample sample(3, 2, 2);
    test::TemporaryFolder folder;
    if (!artifact::writeBundle(sample.bundle, folder.file("a.nnv")).empty())
      abort();
    return new Bundle(folder.file("a.nnv"));
  }();
  return *bundle;
}

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
    const Bundle &bundle = sampleBundle();
    prof::Profile profile = prof::makeProfile(bundle, recorded);
    prof::profileJson("file", bundle, profile);
    prof::kernelTable("file", bundle, profile, true);
    tools::chromeTrace(bundle, recorded);
    tools::perfettoTrace(bundle, recorded);
  }
  free(memory);
  return 0;
}
