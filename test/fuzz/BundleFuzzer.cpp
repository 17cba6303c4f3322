//===- BundleFuzzer.cpp - Opens damaged bundles ---------------------------===//
//
// An input that starts with a bundle's magic is opened as it is. Digests stop
// nearly all of those, so any other input is taken for metadata and put into an
// otherwise good bundle with digests that fit, as an attacker could do; or,
// where it has an identifier of them, for overlays of a good bundle. Code is
// loaded and sessions are created, but nothing runs: a bundle's code can do
// anything by design. (PlanFuzzer.cpp runs plans whose code does nothing.)
//
//===----------------------------------------------------------------------===//
#include "artifact/Compatibility.h"
#include "artifact/Header.h"
#include "artifact/MetadataBudget.h"
#include "artifact/Verifier.h"
#include "artifact/Writer.h"
#include "test/fuzz/DescribeAll.h"
#include "test/unit/sample/GpuSample.h"
#include "test/unit/sample/VideoSample.h"

#include <cstdlib>

using namespace nnv12::artifact;
using nnv12::test::AlignedCopy;

/// The bundle, or null.
static nnv12_bundle *open(const void *image, size_t size,
                          nnv12_copying copying) {
  nnv12_open_options options = NNV12_OPEN_OPTIONS_INIT;
  options.verify_weights = 1;
  options.copying = copying;
  nnv12_error error = {};
  nnv12_bundle *bundle;
  nnv12_status status =
      nnv12_bundle_open_memory(image, size, &options, &bundle, &error);
  if (status == NNV12_OK ? !bundle : bundle || !error.message[0])
    abort();
  return bundle;
}

static void use(nnv12_bundle *bundle) {
  nnv12::test::describeAll(bundle);
  nnv12_session_options one = NNV12_SESSION_OPTIONS_INIT;
  one.threads = 1;
  // Lanes begin at once, and transforms are code of the bundle.
  one.preparation_threads = NNV12_NO_PREPARATION_THREADS;
  nnv12_stream_options stream = NNV12_STREAM_OPTIONS_INIT;
  nnv12_session *sessions[2];
  for (nnv12_session *&session : sessions) {
    nnv12_error error = {};
    nnv12_status status = nnv12_session_create(bundle, &one, &session, &error);
    if (status == NNV12_OK ? !session
                           : !error.message[0] || strchr(error.message, '\n'))
      abort();
    // Wrong counts, whatever the model takes: must be refused.
    if (status == NNV12_OK && nnv12_session_run(session, nullptr, ~0u, nullptr,
                                                ~0u, &error) == NNV12_OK)
      abort();
    one.stream = &stream;
  }
  nnv12_bundle_close(bundle);
  for (nnv12_session *session : sessions)
    nnv12_session_close(session);
}

/// In place and copied must be the same.
static void openTwice(const void *image, size_t size) {
  nnv12_bundle *inPlace = open(image, size, NNV12_COPY_NEVER);
  nnv12_bundle *copied = open(image, size, NNV12_COPY_ALWAYS);
  if (!inPlace != !copied)
    abort();
  nnv12_bundle_close(inPlace);
  if (copied)
    use(copied);
}

/// Metadata of a bundle with both kinds of overlays.
static nnv12::bundle::Bundle *goodMetadata() {
  static AlignedCopy *const image = [] {
    nnv12::test::TemporaryFolder folder;
    nnv12::test::GpuSample sample;
    nnv12::test::addVideo(sample.bundle);
    if (!writeBundle(sample.bundle, folder.file("a.nnv")).empty())
      abort();
    return new AlignedCopy(nnv12::test::readFile(folder.file("a.nnv")));
  }();
  Header header;
  memcpy(&header, image->data, sizeof header);
  return flatbuffers::GetMutableRoot<nnv12::bundle::Bundle>(
      image->data + header.metadataOffset);
}

/// `verify` checks overlays of that kind.
template <typename Verify>
static void verifyAs(const nnv12::bundle::Overlay *overlay, Verify verify,
                     const uint8_t *data, size_t size) {
  AlignedCopy overlays(data, size);
  const nnv12::bundle::Bundle *bundle = goodMetadata();
  const nnv12::bundle::Segment *segment =
      bundle->segments()->Get(overlay->segment());
  auto *table = const_cast<flatbuffers::Table *>(
      reinterpret_cast<const flatbuffers::Table *>(segment));
  table->SetField<uint64_t>(nnv12::bundle::Segment::VT_SIZE, size, 0);
  Fault fault;
  if (!verify(bundle, overlay->segment(), overlays.data, fault) !=
      (fault.code != Fault::None))
    abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Room for the segments of the corpus, whose bytes are all zero.
  static constexpr size_t imageSize = 3 * largestPage;
  static constexpr size_t largest = largestPage - sizeof(Header);
  if (size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0) {
    AlignedCopy image(data, size);
    openTwice(image.data, image.size);
    return 0;
  }
  auto isOf = [&](const char *identifier) {
    return size >= 2 * sizeof(flatbuffers::uoffset_t) &&
           flatbuffers::BufferHasIdentifier(data, identifier);
  };
  if (isOf(overlaysIdentifier)) {
    verifyAs(gpuOverlayIn(goodMetadata()), verifyOverlays, data, size);
    return 0;
  }
  if (isOf(videoIdentifier)) {
    verifyAs(videoOverlayIn(goodMetadata()), verifyVideo, data, size);
    return 0;
  }
  if (size > largest)
    return 0;
  // By itself first, where reads behind its end are seen.
  AlignedCopy metadata(data, size);
  Fault fault;
  (void)verifyMetadata(metadata.data, size, imageSize, fault);

  void *memory;
  if (posix_memalign(&memory, 64, imageSize))
    return 0;
  auto *image = static_cast<uint8_t *>(memory);
  memset(image, 0, imageSize);
  Header header = {};
  memcpy(header.magic, magic, sizeof magic);
  header.version = formatVersion;
  header.fileSize = imageSize;
  header.metadataOffset = sizeof header;
  header.metadataSize = size;
  header.metadataDigest = digestOf(data, size);
  header.headerDigest = digestOf(&header, offsetof(Header, headerDigest));
  memcpy(image, &header, sizeof header);
  if (size)
    memcpy(image + sizeof header, data, size);
  openTwice(image, imageSize);
  free(memory);
  return 0;
}
