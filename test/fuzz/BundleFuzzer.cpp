//===- BundleFuzzer.cpp - Opens damaged bundles ---------------------------===//
//
// An input that starts with a bundle's magic is opened as it is. Digests stop
// nearly all of those, so any other input is taken for metadata and put into an
// otherwise good bundle with digests that fit: what an attacker can make. Code
// is loaded and sessions are created, but nothing runs: a bundle's code can do
// anything by design.
//
//===----------------------------------------------------------------------===//
#include "artifact/Header.h"
#include "runtime/include/nnv12.h"

#include <cstdlib>

using namespace nnv12::artifact;

static void open(const void *image, size_t size) {
  nnv12_open_options options = NNV12_OPEN_OPTIONS_INIT;
  options.verify_weights = 1;
  nnv12_error error;
  nnv12_bundle *bundle;
  if (nnv12_bundle_open_memory(image, size, &options, &bundle, &error) !=
      NNV12_OK) {
    if (!bundle && error.message[0])
      return;
    abort();
  }
  // Touch all that the API hands out.
  size_t sum = 0;
  for (uint32_t i = 0; i < nnv12_bundle_num_inputs(bundle); ++i) {
    const nnv12_tensor_info *info = nnv12_bundle_input(bundle, i);
    sum += strlen(info->name) + info->byte_size;
    for (uint32_t d = 0; d < info->rank; ++d)
      sum += static_cast<size_t>(info->shape[d]);
  }
  for (uint32_t i = 0; i < nnv12_bundle_num_outputs(bundle); ++i)
    sum += strlen(nnv12_bundle_output(bundle, i)->name);
  nnv12_bundle_info info;
  info.struct_size = sizeof info;
  nnv12_bundle_get_info(bundle, &info);
  sum += strlen(info.model) + strlen(info.target);
  for (uint32_t i = 0; i < info.num_operations; ++i) {
    nnv12_operation_info operation;
    operation.struct_size = sizeof operation;
    nnv12_bundle_get_operation(bundle, i, &operation);
    sum += strlen(operation.layer) + strlen(operation.kernel);
  }
  for (uint32_t i = 0; i < info.num_preparations; ++i) {
    nnv12_preparation_info preparation;
    preparation.struct_size = sizeof preparation;
    nnv12_bundle_get_preparation(bundle, i, &preparation);
    sum += strlen(preparation.layer) + strlen(preparation.kernel) +
           preparation.lane;
  }
  for (uint32_t i = 0; i < info.num_switches; ++i) {
    nnv12_switch_info change;
    change.struct_size = sizeof change;
    nnv12_bundle_get_switch(bundle, i, &change);
    sum += strlen(change.kernel) + change.operation;
  }
  volatile size_t sink = sum;
  (void)sink;

  nnv12_session_options one = NNV12_SESSION_OPTIONS_INIT;
  one.threads = 1;
  // Lanes begin at once, and transforms are code of the bundle.
  one.preparation_threads = NNV12_NO_PREPARATION_THREADS;
  nnv12_session *session;
  if (nnv12_session_create(bundle, &one, &session, &error) == NNV12_OK) {
    // Wrong counts, whatever the model takes: must be refused.
    if (nnv12_session_run(session, nullptr, ~0u, nullptr, ~0u, &error) ==
        NNV12_OK)
      abort();
  }
  nnv12_bundle_close(bundle);
  nnv12_session_close(session);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Room for the segments of the corpus, whose bytes are all zero.
  static constexpr size_t imageSize = 3 * largestPage;
  static constexpr size_t largest = largestPage - sizeof(Header);
  bool whole = size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
  size_t total = whole ? size : imageSize;
  if (!whole && size > largest)
    return 0;
  void *memory;
  if (posix_memalign(&memory, 64, total))
    return 0;
  auto *image = static_cast<uint8_t *>(memory);
  if (whole) {
    memcpy(image, data, size);
  } else {
    memset(image, 0, total);
    Header header = {};
    memcpy(header.magic, magic, sizeof magic);
    header.version = formatVersion;
    header.fileSize = total;
    header.metadataOffset = sizeof header;
    header.metadataSize = size;
    header.metadataDigest = digestOf(data, size);
    header.headerDigest = digestOf(&header, offsetof(Header, headerDigest));
    memcpy(image, &header, sizeof header);
    if (size)
      memcpy(image + sizeof header, data, size);
  }
  open(image, total);
  free(memory);
  return 0;
}
