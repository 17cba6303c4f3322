//===- PlanFuzzer.cpp - Runs invented plans -------------------------------===//
//
// The bytes decide on a plan, on its faults, on tables that are used more than
// once, and on how sessions of it run. An attacker who must fit the digests,
// but whose code does nothing, can make all of that. A bundle that opens must
// run, or say why not: every wait ends, every access stays inside its memory. A
// refusal costs time in proportion to the bundle's size; libFuzzer's -timeout,
// -rss_limit_mb and -malloc_limit_mb see to it.
//
//===----------------------------------------------------------------------===//
#include "artifact/Verifier.h"
#include "test/fuzz/DescribeAll.h"
#include "test/fuzz/PackedImage.h"
#include "test/unit/sample/SampleBundle.h"

#include <cstdlib>
#include <string>

using namespace nnv12;
using namespace nnv12::test;

/// Larger plans are opened and not run: this machine is not theirs.
static constexpr uint64_t mostMemory = 16 << 20;

static bool isRunnable(const nnv12_bundle *bundle) {
  nnv12_bundle_info info;
  info.struct_size = sizeof info;
  nnv12_bundle_get_info(bundle, &info);
  uint64_t buffers = 0;
  auto add = [&](const nnv12_tensor_info *tensor) {
    buffers += tensor->byte_size < mostMemory ? tensor->byte_size : mostMemory;
  };
  for (uint32_t i = 0; i < nnv12_bundle_num_inputs(bundle); ++i)
    add(nnv12_bundle_input(bundle, i));
  for (uint32_t i = 0; i < nnv12_bundle_num_outputs(bundle); ++i)
    add(nnv12_bundle_output(bundle, i));
  return info.arena_size < mostMemory && info.prepared_size < mostMemory &&
         info.scratch_size < mostMemory && buffers < mostMemory;
}

static nnv12_session_options sessionOptions(Choices &choices) {
  static constexpr uint32_t preparing[] = {0, 1, 2, 70,
                                           NNV12_NO_PREPARATION_THREADS};
  nnv12_session_options options = NNV12_SESSION_OPTIONS_INIT;
  options.threads = uint32_t(choices.from(1, 3));
  options.oversubscribe = 1;
  options.preparation_threads = choices.of(preparing);
  options.mode = nnv12_mode(choices.below(3));
  options.no_stealing = choices.oneIn(2);
  options.pin_threads = choices.oneIn(8);
  return options;
}

namespace {
/// Buffers of the right sizes, exactly.
struct Buffers {
  explicit Buffers(const nnv12_bundle *bundle) {
    for (uint32_t i = 0; i < nnv12_bundle_num_inputs(bundle); ++i) {
      size_t size = nnv12_bundle_input(bundle, i)->byte_size;
      inputs.push_back(NNV12_INPUT(calloc(1, size ? size : 1), size));
    }
    for (uint32_t i = 0; i < nnv12_bundle_num_outputs(bundle); ++i) {
      size_t size = nnv12_bundle_output(bundle, i)->byte_size;
      outputs.push_back(NNV12_OUTPUT(calloc(1, size ? size : 1), size));
    }
  }
  Buffers(const Buffers &) = delete;
  ~Buffers() {
    for (nnv12_input &input : inputs)
      free(const_cast<void *>(input.data));
    for (nnv12_output &output : outputs)
      free(output.data);
  }
  std::vector<nnv12_input> inputs;
  std::vector<nnv12_output> outputs;
};
} // namespace

static void runSession(Choices &choices, nnv12_bundle *bundle) {
  nnv12_session_options options = sessionOptions(choices);
  alignas(64) static uint8_t recorded[64 << 10];
  nnv12_recorder recorder = NNV12_RECORDER_INIT(recorded, sizeof recorded);
  if (choices.oneIn(4)) {
    recorder.level = uint32_t(choices.below(4));
    options.recorder = &recorder;
  }
  nnv12_session *session;
  nnv12_error error = {};
  if (nnv12_session_create(bundle, &options, &session, &error) != NNV12_OK) {
    // Memory may run out, and libzstd be missing.
    if (error.status != NNV12_OUT_OF_MEMORY &&
        error.status != NNV12_UNSUPPORTED)
      abort();
    return;
  }
  Buffers buffers(bundle);
  std::string failure;
  for (unsigned run = unsigned(choices.below(4)); run-- > 0;) {
    nnv12_status status = nnv12_session_run(
        session, buffers.inputs.data(), uint32_t(buffers.inputs.size()),
        buffers.outputs.data(), uint32_t(buffers.outputs.size()), &error);
    // Damaged weights are all that can be wrong, and stay so.
    if (status != NNV12_OK && status != NNV12_BAD_BUNDLE)
      abort();
    if (!failure.empty() &&
        (status == NNV12_OK || failure != std::string(error.message)))
      abort();
    if (status != NNV12_OK)
      failure = error.message;
  }
  nnv12_session_info info;
  info.struct_size = sizeof info;
  nnv12_session_get_info(session, &info);
  if (info.preparations_done > info.num_preparations ||
      info.switches_done > info.switches_ready)
    abort();
  nnv12_session_close(session);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static PackedImage image;
  Choices choices(data, size);
  artifact::Bundle plan =
      inventPlan(choices, image.weights(), PackedImage::codeSize);
  for (unsigned i = unsigned(choices.below(8)); i > 4; --i)
    damagePlan(choices, plan);
  if (!image.pack(choices, plan))
    return 0;

  nnv12_open_options options = NNV12_OPEN_OPTIONS_INIT;
  options.verify_weights = choices.oneIn(8);
  options.copying = nnv12_copying(choices.below(3));
  nnv12_error error = {};
  nnv12_bundle *bundle;
  nnv12_status status =
      choices.oneIn(2)
          ? nnv12_bundle_open(image.path(), &options, &bundle, &error)
          : nnv12_bundle_open_memory(image.data(), image.size(), &options,
                                     &bundle, &error);
  if (status != NNV12_OK) {
    if (bundle || !error.message[0])
      abort();
    // Again where reads behind its end are seen.
    AlignedCopy metadata(image.data() + sizeof(artifact::Header),
                         image.metadataSize());
    artifact::Fault fault;
    (void)artifact::verifyMetadata(metadata.data, metadata.size, image.size(),
                                   fault);
    return 0;
  }
  describeAll(bundle);
  if (isRunnable(bundle))
    for (unsigned i = unsigned(choices.from(1, 2)); i-- > 0;)
      runSession(choices, bundle);
  nnv12_bundle_close(bundle);
  return 0;
}
