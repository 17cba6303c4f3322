//===- ForgeBundle.cpp - A bundle whose code does something else ----------===//
//
//   forge-bundle IN MARK OUT
//
// Writes OUT, which is IN with other code for x86-64: it makes the file MARK
// and ends the process. All digests are right; nothing is signed. For tests of
// whose code runs as which user (test/trust).
//
//===----------------------------------------------------------------------===//
#include "artifact/Verifier.h"
#include "test/unit/sample/SampleBundle.h"

#include <cstdio>
#include <cstring>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;

/// Linux's open(MARK, O_CREAT | O_WRONLY, 0666) and exit_group(0), with the
/// path behind them.
static std::vector<unsigned char> codeThatMarks(const char *mark) {
  std::vector<unsigned char> code = {
      0x48, 0x8d, 0x3d, 0, 0, 0, 0, // lea rdi, [rip + to the path]
      0xbe, 0x41, 0,    0, 0,       // mov esi, O_CREAT | O_WRONLY
      0xba, 0xb6, 0x01, 0, 0,       // mov edx, 0666
      0xb8, 0x02, 0,    0, 0,       // mov eax, open
      0x0f, 0x05,                   // syscall
      0xb8, 0xe7, 0,    0, 0,       // mov eax, exit_group
      0x31, 0xff,                   // xor edi, edi
      0x0f, 0x05};                  // syscall
  constexpr size_t afterLea = 7;
  code[3] = static_cast<unsigned char>(code.size() - afterLea);
  code.insert(code.end(), mark, mark + strlen(mark) + 1);
  return code;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "forge-bundle: expected IN MARK OUT\n");
    return 1;
  }
  AlignedCopy image(readFile(argv[1]));
  Fault fault;
  const bundle::Bundle *bundle = verifyBundle(image.data, image.size, fault);
  if (!bundle) {
    fprintf(stderr, "forge-bundle: %s\n", fault.text);
    return 1;
  }
  std::vector<unsigned char> code = codeThatMarks(argv[2]);
  bool hasCode = false;
  for (const bundle::Segment *segment : *bundle->segments()) {
    if (segment->kind() != bundle::SegmentKind_Code ||
        segment->size() < code.size())
      continue;
    hasCode = true;
    // Any kernel's entry slides to the code at the end.
    unsigned char *bytes = image.data + segment->offset();
    memset(bytes, 0x90, segment->size());
    memcpy(bytes + segment->size() - code.size(), code.data(), code.size());
    Digest digest = digestOf(bytes, segment->size());
    memcpy(const_cast<uint8_t *>(segment->digest()->data()), digest.bytes,
           sizeof digest);
  }
  if (!hasCode) {
    fprintf(stderr, "forge-bundle: found no code of %zu bytes\n", code.size());
    return 1;
  }
  Header header;
  memcpy(&header, image.data, sizeof header);
  header.metadataDigest =
      digestOf(image.data + header.metadataOffset, header.metadataSize);
  header.headerDigest = digestOf(&header, offsetof(Header, headerDigest));
  memcpy(image.data, &header, sizeof header);
  writeFile(argv[3], image.data, image.size);
  return 0;
}
