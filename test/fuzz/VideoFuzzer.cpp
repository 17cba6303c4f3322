//===- VideoFuzzer.cpp - Streams of overlays that are changed -------------===//
//
// The bytes decide on changes in the overlay for video of a good bundle, whose
// code does nothing but return, and on frames: an attacker who must fit the
// digests can make all of them. The bundle opens and runs for any overlay. A
// stream of an overlay that a verifier takes stays inside its memory, as the
// sanitizers see and VideoFollower.h says.
//
//===----------------------------------------------------------------------===//
#include "artifact/Compatibility.h"
#include "artifact/CpuFeatures.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"
#include "runtime/include/nnv12.h"
#include "test/fuzz/Choices.h"
#include "test/fuzz/WrittenBundle.h"
#include "test/unit/artifact/VideoFollower.h"
#include "test/unit/sample/VideoSample.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

using namespace nnv12;
using namespace nnv12::test;

namespace {

/// A bundle for this CPU alone, and where its overlay for video lies.
class Image {
public:
  /// Executes from `tail` on are the tail, if there are some.
  explicit Image(size_t tiles, uint32_t tail = 5) {
    VideoSample sample(tiles);
    if (tail < 5)
      joinTail(sample.bundle, tail);
    bool isArm = artifact::hostArchitecture()[0] == 'a';
    sample.bundle.programs = {sample.bundle.programs[isArm ? 2 : 1]};
    artifact::Segment::Piece &code =
        sample.bundle.segments[sample.bundle.programs[0].code].pieces[0];
    static constexpr unsigned char arm[] = {0xc0, 0x03, 0x5f, 0xd6};
    // The writer would fill up a shorter segment with zeros.
    std::vector<unsigned char> returns(4096, 0xc3);
    for (size_t i = 0; isArm && i < returns.size(); ++i)
      returns[i] = arm[i % sizeof arm];
    code.data = returns.data();
    code.size = returns.size();
    bytes = written(sample.bundle);
    const bundle::Bundle *metadata = metadataOf(bytes);
    const bundle::Segment *segment = metadata->segments()->Get(
        artifact::videoOverlayIn(metadata)->segment());
    begin = segment->offset();
    size = segment->size();
  }

  /// A copy with some numbers changed, and digests that fit.
  std::vector<unsigned char> change(Choices &choices) const {
    std::vector<unsigned char> result = bytes;
    for (uint64_t i = choices.below(6); i-- > 0;) {
      static constexpr size_t widths[] = {4, 8, 1};
      size_t width = choices.of(widths);
      size_t at = begin + choices.below(size / width) * width;
      uint64_t value = 0;
      memcpy(&value, &result[at], width);
      switch (choices.below(4)) {
      case 0:
        value += choices.from(0, 8) - 4;
        break;
      case 1:
        value = choices.below(64);
        break;
      case 2:
        value = choices.number();
        break;
      case 3: // that of another place, as for extents of maps and sets
        memcpy(&value, &result[begin + choices.below(size / width) * width],
               width);
        break;
      }
      memcpy(&result[at], &value, width);
    }
    fitDigests(result.data());
    return result;
  }

private:
  std::vector<unsigned char> bytes;
  size_t begin, size;
};

/// Whether frames take little time and memory, of an overlay that is taken.
bool isRunnable(const bundle::ProgramVideo *video) {
  uint64_t pixels = 0;
  uint32_t reach = 0;
  for (const bundle::VideoSet *set : *video->sets()) {
    pixels += uint64_t(set->rows()) * set->columns();
    for (const bundle::VideoRead *read : *set->reads())
      reach = std::max({reach, read->rows()->num(), read->columns()->num()});
  }
  return pixels < 1 << 14 && reach < 1 << 8 &&
         video->arena_size() < uint64_t(64) << 20;
}

/// Frames of a stream, if there is one.
void runFrames(nnv12_bundle *bundle, Choices &choices, bool isOn) {
  nnv12_stream_options stream = NNV12_STREAM_OPTIONS_INIT;
  nnv12_session_options options = NNV12_SESSION_OPTIONS_INIT;
  options.stream = isOn ? &stream : nullptr;
  options.threads = uint32_t(choices.from(1, 2));
  options.oversubscribe = 1;
  options.preparation_threads = NNV12_NO_PREPARATION_THREADS;
  options.mode = choices.oneIn(2) ? NNV12_MODE_PLAN : NNV12_MODE_COLD;
  if (choices.oneIn(2)) {
    static constexpr float tolerances[] = {0, 1, 1e-3F};
    stream.reuse = NNV12_REUSE_BOUNDED;
    stream.tolerance = choices.of(tolerances);
    stream.input_tolerance = choices.of(tolerances);
    stream.refresh = uint32_t(choices.below(4));
    stream.audit = choices.oneIn(2);
  }
  nnv12_session *session;
  nnv12_error error = {};
  nnv12_status status =
      nnv12_session_create(bundle, &options, &session, &error);
  expect(status == NNV12_OK, error.message);
  // Their sizes are exact, so that accesses behind them are seen.
  std::vector<unsigned char> x(nnv12_bundle_input(bundle, 0)->byte_size),
      y(nnv12_bundle_output(bundle, 0)->byte_size);
  nnv12_input in = NNV12_INPUT(x.data(), x.size());
  nnv12_output out = NNV12_OUTPUT(y.data(), y.size());
  // The fourth run is the first one that reuses values.
  for (uint64_t frames = choices.from(2, 9); frames-- > 0;) {
    switch (choices.below(6)) {
    case 0:
      x[choices.below(x.size())] ^= 1;
      break;
    case 1:
      for (unsigned char &byte : x)
        byte ^= 1;
      break;
    case 2:
      expect(nnv12_session_reset(session, &error) == NNV12_OK, error.message);
      break;
    case 3:
      expect(nnv12_session_prepare(session, 60000, &error) == NNV12_OK,
             error.message);
      break;
    default:
      break;
    }
    expect(nnv12_session_run(session, &in, 1, &out, 1, &error) == NNV12_OK,
           error.message);
  }
  nnv12_stream_info info = {};
  info.struct_size = sizeof info;
  nnv12_session_get_stream_info(session, &info);
  expect(info.whole_frames <= info.frames && info.changed >= 0 &&
             info.changed <= 1 && info.computed >= 0 && info.computed <= 1,
         "counts of no frames");
  nnv12_session_close(session);
}

/// Whether there is a stream.
bool hasStream(nnv12_bundle *bundle) {
  nnv12_stream_options stream = NNV12_STREAM_OPTIONS_INIT;
  nnv12_session_options options = NNV12_SESSION_OPTIONS_INIT;
  options.stream = &stream;
  options.threads = 1;
  options.preparation_threads = NNV12_NO_PREPARATION_THREADS;
  nnv12_session *session;
  nnv12_error error = {};
  nnv12_status status =
      nnv12_session_create(bundle, &options, &session, &error);
  expect(status == NNV12_OK ? session != nullptr
                            : error.message[0] && !strchr(error.message, '\n'),
         "no one line");
  expect(status == NNV12_OK || status == NNV12_BAD_BUNDLE ||
             status == NNV12_UNSUPPORTED || status == NNV12_OUT_OF_MEMORY,
         error.message);
  nnv12_session_close(session);
  return status == NNV12_OK;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The sample's weights are compressed.
  static const bool hasZstd = dlopen("libzstd.so.1", RTLD_NOW) != nullptr;
  if (!hasZstd)
    return 0;
  static const Image images[] = {Image(4),    Image(1),    Image(3),
                                 Image(70),   Image(4, 1), Image(3, 2),
                                 Image(70, 3)};
  Choices choices(data, size);
  // The overlay ends where the image does: reads behind it are seen.
  AlignedCopy image(choices.of(images).change(choices));
  std::vector<unsigned char> bytes(image.data, image.data + image.size);
  const bundle::Bundle *metadata = metadataOf(bytes);
  artifact::Fault fault, why;
  bool isTaken = artifact::verifyVideoIn(metadata, bytes.data(), fault);
  expect(isTaken == (fault.code == artifact::Fault::None), fault.text);

  nnv12_bundle *bundle;
  nnv12_error error = {};
  expect(nnv12_bundle_open_memory(image.data, image.size, nullptr, &bundle,
                                  &error) == NNV12_OK,
         error.message);
  const bundle::VideoOverlays *videos =
      isTaken ? artifact::videoOverlaysIn(metadata, bytes.data()) : nullptr;
  const bundle::Program *program = metadata->programs()->Get(0);
  bool isKnown =
      videos && artifact::isUnderstood(metadata, videos, program, 0, why);
  if (isKnown) {
    const bundle::ProgramVideo *video = artifact::videoOf(videos, program);
    std::string outside = findOutside(metadata, program, video);
    expect(outside.empty(), outside.c_str());
    if (isRunnable(video))
      runFrames(bundle, choices, /*isOn=*/true);
  } else {
    expect(!hasStream(bundle), "a stream of an overlay that nobody takes");
    if (choices.oneIn(64))
      runFrames(bundle, choices, /*isOn=*/false);
  }
  nnv12_bundle_close(bundle);
  return 0;
}
