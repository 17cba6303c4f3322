//===- SampleBundle.cpp - A small bundle that runs on any host ------------===//
#include "test/unit/sample/SampleBundle.h"

#include "artifact/Digest.h"
#include "artifact/Header.h"
#include "artifact/Hexadecimal.h"
#include "bundle_generated.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace nnv12::test {

// Both blobs are gcc -Os's code for
//   void add(void *const *o, int64_t begin, int64_t end, void *scratch) {
//     float *d = o[0]; const float *x = o[1], *y = o[2];
//     for (int64_t i = begin * 16; i < end * 16; i++) d[i] = x[i] + y[i];
//   }
// of the same with *, and of a copy of o[1] to o[0] by way of scratch[0].
static constexpr unsigned char x86Code[] = {
    0x48, 0x8b, 0x07, 0x48, 0x8b, 0x4f, 0x08, 0x48, 0xc1, 0xe6, 0x04, 0x48,
    0xc1, 0xe2, 0x04, 0x48, 0x8b, 0x7f, 0x10, 0x48, 0x39, 0xf2, 0x7e, 0x14,
    0xf3, 0x0f, 0x10, 0x04, 0xb1, 0xf3, 0x0f, 0x58, 0x04, 0xb7, 0xf3, 0x0f,
    0x11, 0x04, 0xb0, 0x48, 0xff, 0xc6, 0xeb, 0xe7, 0xc3, 0x48, 0x8b, 0x07,
    0x48, 0x8b, 0x4f, 0x08, 0x48, 0xc1, 0xe6, 0x04, 0x48, 0xc1, 0xe2, 0x04,
    0x48, 0x8b, 0x7f, 0x10, 0x48, 0x39, 0xf2, 0x7e, 0x14, 0xf3, 0x0f, 0x10,
    0x04, 0xb1, 0xf3, 0x0f, 0x59, 0x04, 0xb7, 0xf3, 0x0f, 0x11, 0x04, 0xb0,
    0x48, 0xff, 0xc6, 0xeb, 0xe7, 0xc3, 0x48, 0x8b, 0x07, 0x48, 0x8b, 0x7f,
    0x08, 0x48, 0xc1, 0xe6, 0x04, 0x48, 0xc1, 0xe2, 0x04, 0x48, 0x39, 0xf2,
    0x7e, 0x17, 0xf3, 0x0f, 0x10, 0x04, 0xb7, 0xf3, 0x0f, 0x11, 0x01, 0xf3,
    0x0f, 0x10, 0x01, 0xf3, 0x0f, 0x11, 0x04, 0xb0, 0x48, 0xff, 0xc6, 0xeb,
    0xe4, 0xc3};
static constexpr uint32_t x86Entries[3] = {0x00, 0x2d, 0x5a};

static constexpr unsigned char armCode[] = {
    0x03, 0x10, 0x40, 0xa9, 0x21, 0xec, 0x7c, 0xd3, 0x00, 0x08, 0x40, 0xf9,
    0x42, 0xec, 0x7c, 0xd3, 0x5f, 0x00, 0x01, 0xeb, 0x4c, 0x00, 0x00, 0x54,
    0xc0, 0x03, 0x5f, 0xd6, 0x80, 0x78, 0x61, 0xbc, 0x01, 0x78, 0x61, 0xbc,
    0x00, 0x28, 0x21, 0x1e, 0x60, 0x78, 0x21, 0xbc, 0x21, 0x04, 0x00, 0x91,
    0xf8, 0xff, 0xff, 0x17, 0x03, 0x10, 0x40, 0xa9, 0x21, 0xec, 0x7c, 0xd3,
    0x00, 0x08, 0x40, 0xf9, 0x42, 0xec, 0x7c, 0xd3, 0x5f, 0x00, 0x01, 0xeb,
    0x4c, 0x00, 0x00, 0x54, 0xc0, 0x03, 0x5f, 0xd6, 0x80, 0x78, 0x61, 0xbc,
    0x01, 0x78, 0x61, 0xbc, 0x00, 0x08, 0x21, 0x1e, 0x60, 0x78, 0x21, 0xbc,
    0x21, 0x04, 0x00, 0x91, 0xf8, 0xff, 0xff, 0x17, 0x04, 0x00, 0x40, 0xa9,
    0x21, 0xec, 0x7c, 0xd3, 0x42, 0xec, 0x7c, 0xd3, 0x5f, 0x00, 0x01, 0xeb,
    0x4c, 0x00, 0x00, 0x54, 0xc0, 0x03, 0x5f, 0xd6, 0x00, 0x78, 0x61, 0xbc,
    0x60, 0x00, 0x00, 0xbd, 0x60, 0x00, 0x40, 0xbd, 0x80, 0x78, 0x21, 0xbc,
    0x21, 0x04, 0x00, 0x91, 0xf8, 0xff, 0xff, 0x17};
static constexpr uint32_t armEntries[3] = {0x00, 0x34, 0x68};

Sample::Sample(size_t tiles) {
  using namespace artifact;
  for (size_t i = 0; i < tiles * tileSize; ++i) {
    a.push_back(float(i % 7));
    b.push_back(float(i % 5) + 0.5f);
  }
  auto rows = int64_t(tiles), columns = int64_t(tileSize);
  bundle.model = "sample";
  bundle.producer = "nnv12 tests";
  bundle.inputs.push_back({"x", ElementType::F32, {rows, columns}});
  bundle.outputs.push_back({"y", ElementType::F32, {rows, columns}});
  bundle.segments.push_back({SegmentKind::Code, {{x86Code, sizeof x86Code}}});
  bundle.segments.push_back({SegmentKind::Code, {{armCode, sizeof armCode}}});
  bundle.segments.push_back({SegmentKind::Weights,
                             {{a.data(), a.size() * sizeof(float)},
                              {b.data(), b.size() * sizeof(float)}}});
  addProgram("future", "x86-64", {"sse2", "quantum"}, 0, x86Entries, tiles);
  addProgram("x86-64", "x86-64", {"sse2"}, 0, x86Entries, tiles);
  addProgram("aarch64", "aarch64", {"neon"}, 1, armEntries, tiles);
}

/// Tiles of 16 floats, one behind another.
static artifact::TileMap mapOf(uint64_t tiles) {
  uint64_t elements = tiles * tileSize;
  return {{{elements, 1}}, {{{0}, {elements}, {{0, tiles, tileSize}}}}};
}

/// 32 hexadecimal digits that name the routine and the size of its layer.
static std::string keyOf(const std::string &routine, uint64_t tiles) {
  std::string text = routine + " " + std::to_string(tiles);
  artifact::Digest digest = artifact::digestOf(text.data(), text.size());
  return artifact::hexadecimal(digest.bytes, 16);
}

/// Kernel `name`, whose code lies at [begin, end) of `code`.
static artifact::Kernel kernelOf(const char *name,
                                 const artifact::Segment::Piece &code,
                                 uint32_t begin, uint64_t end, size_t tiles) {
  bool isCopy = strcmp(name, "copy") == 0;
  uint64_t elements = tiles * tileSize;
  artifact::Kernel kernel{name, begin, isCopy ? 2u : 3u, 1, isCopy ? 64u : 0u};
  kernel.tiles = tiles;
  kernel.routine = std::string("sample.") + name;
  kernel.multiplyAdds = isCopy ? 0 : elements;
  kernel.bytes = kernel.operands * elements * sizeof(float);
  kernel.key = keyOf(kernel.routine, tiles);
  artifact::Digest digest = artifact::digestOf(
      static_cast<const unsigned char *>(code.data) + begin, end - begin);
  kernel.fingerprint.assign(std::begin(digest.bytes), std::end(digest.bytes));
  kernel.maps = {mapOf(tiles)};
  return kernel;
}

void Sample::addProgram(const char *target, const char *architecture,
                        std::vector<std::string> features, uint32_t code,
                        const uint32_t (&entries)[3], size_t tiles) {
  using namespace artifact;
  uint64_t bytes = tiles * tileSize * sizeof(float);
  Operand x{Space::Input, 0, 0, bytes}, y{Space::Output, 0, 0, bytes};
  Operand sum{Space::Arena, 0, 0, bytes},
      product{Space::Arena, 0, bytes, bytes};
  Operand aOperand{Space::Weights, 2, 0, bytes};
  Operand bOperand{Space::Weights, 2, bytes, bytes};
  Program program;
  program.target = target;
  program.revision = "sample 1";
  program.architecture = architecture;
  program.features = std::move(features);
  program.code = code;
  const Segment::Piece &bytesOfCode = bundle.segments[code].pieces[0];
  program.kernels = {
      kernelOf("add", bytesOfCode, entries[0], entries[1], tiles),
      kernelOf("mul", bytesOfCode, entries[1], entries[2], tiles),
      kernelOf("copy", bytesOfCode, entries[2], bytesOfCode.size, tiles)};
  program.operations = {{"layer0", 0, {sum, x, aOperand}, tiles},
                        {"layer1", 1, {product, sum, bOperand}, tiles},
                        {"layer2", 2, {y, product}, tiles}};
  program.operations[0].liveArena = bytes;
  program.operations[1].liveArena = 2 * bytes;
  program.operations[2].liveArena = bytes;
  program.arenaSize = 2 * bytes;
  bundle.programs.push_back(std::move(program));
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "nnv12-XXXXXX").string();
  path = mkdtemp(&pattern[0]);
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path); }

std::vector<unsigned char> readFile(const std::string &path) {
  std::vector<unsigned char> bytes;
  FILE *file = fopen(path.c_str(), "rb");
  if (!file)
    return bytes;
  for (int c; (c = fgetc(file)) != EOF;)
    bytes.push_back(static_cast<unsigned char>(c));
  fclose(file);
  return bytes;
}

void writeFile(const std::string &path, const void *data, size_t size) {
  FILE *file = fopen(path.c_str(), "wb");
  // An empty file's data may be null.
  if (size)
    fwrite(data, 1, size, file);
  fclose(file);
}

AlignedCopy::AlignedCopy(const void *source, size_t size) : size(size) {
  // Exactly as large as asked for, so that AddressSanitizer sees reads beyond.
  void *memory = nullptr;
  if (posix_memalign(&memory, 64, size ? size : 1))
    abort();
  data = static_cast<unsigned char *>(memory);
  if (size)
    memcpy(data, source, size);
}

AlignedCopy::~AlignedCopy() { free(data); }

void fitDigests(unsigned char *image) {
  artifact::Header header;
  memcpy(&header, image, sizeof header);
  unsigned char *metadata = image + header.metadataOffset;
  const bundle::Bundle *bundle = bundle::GetBundle(metadata);
  for (const bundle::Segment *segment : *bundle->segments()) {
    if (segment->kind() != bundle::SegmentKind_Overlays)
      continue;
    artifact::Digest digest =
        artifact::digestOf(image + segment->offset(), segment->size());
    memcpy(const_cast<uint8_t *>(segment->digest()->data()), digest.bytes,
           sizeof digest);
  }
  header.metadataDigest = artifact::digestOf(metadata, header.metadataSize);
  header.headerDigest =
      artifact::digestOf(&header, offsetof(artifact::Header, headerDigest));
  memcpy(image, &header, sizeof header);
}

} // namespace nnv12::test
