//===- RepackBundle.cpp - Gives a bundle other metadata -------------------===//
//
//   repack-bundle IN METADATA OUT [SEGMENT...]
//
// Writes OUT with the bytes of IN's segments, then those of the files SEGMENT,
// and with the metadata, which says where the segments lie. Digests are made
// anew, of the segments as well; nothing is signed. The metadata may be one
// that only later readers understand: test/data/make_later.py.
//
//===----------------------------------------------------------------------===//
#include "artifact/Verifier.h"
#include "test/unit/sample/SampleBundle.h"

#include <cstdio>
#include <vector>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;
using Bytes = std::vector<unsigned char>;

static int fail(const char *text) {
  fprintf(stderr, "repack-bundle: %s\n", text);
  return 1;
}

/// Puts the segments in the places that the metadata gives; null, or a fault.
static const char *place(AlignedCopy &metadata,
                         const std::vector<Bytes> &segments, Bytes &image) {
  const bundle::Bundle *bundle = bundle::GetBundle(metadata.data);
  if (bundle->segments()->size() != segments.size())
    return "found another number of segments than the metadata has";
  image.assign(sizeof(Header) + metadata.size, 0);
  for (size_t i = 0; i < segments.size(); ++i) {
    const bundle::Segment *segment = bundle->segments()->Get(uint32_t(i));
    if (segment->size() != segments[i].size() ||
        segment->digest()->size() != sizeof(Digest))
      return "found a segment of another size than the metadata says";
    if (segment->offset() < image.size() ||
        segment->offset() % segmentAlignment)
      return "found a segment's offset inside what lies before it, or no "
             "multiple of a page";
    image.resize(segment->offset());
    image.insert(image.end(), segments[i].begin(), segments[i].end());
    Digest digest = digestOf(segments[i].data(), segments[i].size());
    memcpy(const_cast<uint8_t *>(segment->digest()->data()), digest.bytes,
           sizeof digest);
  }
  return nullptr;
}

int main(int argc, char **argv) {
  if (argc < 4)
    return fail("expected IN METADATA OUT [SEGMENT...]");
  AlignedCopy source(readFile(argv[1])), metadata(readFile(argv[2]));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(source.data, source.size, fault);
  if (!read)
    return fail(fault.text);
  flatbuffers::Verifier verifier(metadata.data, metadata.size);
  if (!bundle::VerifyBundleBuffer(verifier))
    return fail("found metadata that no reader would take");
  std::vector<Bytes> segments;
  for (const bundle::Segment *segment : *read->segments()) {
    const unsigned char *begin = source.data + segment->offset();
    segments.emplace_back(begin, begin + segment->size());
  }
  for (int i = 4; i < argc; ++i)
    segments.push_back(readFile(argv[i]));

  Bytes image;
  if (const char *wrong = place(metadata, segments, image))
    return fail(wrong);
  Header header = {};
  memcpy(header.magic, magic, sizeof magic);
  header.version = formatVersion;
  header.fileSize = image.size();
  header.metadataOffset = sizeof header;
  header.metadataSize = metadata.size;
  header.metadataDigest = digestOf(metadata.data, metadata.size);
  header.headerDigest = digestOf(&header, offsetof(Header, headerDigest));
  memcpy(image.data(), &header, sizeof header);
  memcpy(image.data() + sizeof header, metadata.data, metadata.size);
  writeFile(argv[3], image.data(), image.size());
  return 0;
}
