//===- BitFlips.h - Bundles with one wrong bit ------------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_ARTIFACT_BITFLIPS_H
#define NNV12_TEST_UNIT_ARTIFACT_BITFLIPS_H

#include "artifact/Compatibility.h"
#include "artifact/Verifier.h"
#include "test/unit/sample/SampleBundle.h"

#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>

namespace nnv12::test {

/// check(byte) with each of `bits` of the first `size` bytes flipped, one at a
/// time.
template <typename Check>
void withFlips(AlignedCopy &copy, size_t size, std::initializer_list<int> bits,
               const Check &check) {
  for (size_t i = 0; i < size; ++i)
    for (int bit : bits) {
      copy.data[i] ^= 1 << bit;
      check(i);
      copy.data[i] ^= 1 << bit;
    }
}

/// The digest catches accidents. An attacker who makes a digest that fits must
/// not crash us either, by any bit of the metadata or of overlays.
inline void
expectFlipsBehindTheDigestAreHarmless(const std::vector<unsigned char> &image) {
  artifact::Header header;
  memcpy(&header, image.data(), sizeof header);
  AlignedCopy metadata(image.data() + header.metadataOffset,
                       header.metadataSize);
  withFlips(metadata, metadata.size, {0, 1, 2, 3, 4, 5, 6, 7}, [&](size_t) {
    artifact::Fault fault;
    const bundle::Bundle *read = artifact::verifyMetadata(
        metadata.data, metadata.size, image.size(), fault);
    EXPECT_EQ(read == nullptr, fault.code != artifact::Fault::None);
  });
  const bundle::Bundle *bundle = bundle::GetBundle(metadata.data);
  auto flip = [&](const bundle::Overlay *overlay, auto verify) {
    if (!overlay)
      return;
    const bundle::Segment *segment =
        bundle->segments()->Get(overlay->segment());
    AlignedCopy overlays(image.data() + segment->offset(), segment->size());
    withFlips(overlays, overlays.size, {0, 1, 2, 3, 4, 5, 6, 7}, [&](size_t) {
      artifact::Fault fault;
      bool isGood = verify(bundle, overlay->segment(), overlays.data, fault);
      EXPECT_EQ(isGood, fault.code == artifact::Fault::None);
    });
  };
  flip(artifact::gpuOverlayIn(bundle), artifact::verifyOverlays);
  flip(artifact::videoOverlayIn(bundle), artifact::verifyVideo);
}

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_ARTIFACT_BITFLIPS_H
