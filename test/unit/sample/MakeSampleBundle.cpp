//===- MakeSampleBundle.cpp - Writes a sample bundle ----------------------===//
//
//   make-sample-bundle FILE [TILES [KEY [LANES ROUNDS]]]
//   make-sample-bundle FILE gpu|split
//   make-sample-bundle FILE video|tail
//   make-sample-bundle FILE properties KEY=VALUE...
//
// With LANES it writes a bundle with a plan, with `gpu` or `video` one with an
// overlay for that, with `split` one for a GPU whose stretches are split, with
// `tail` one for video whose last two executes are its tail, with `properties`
// one with a plan and the given properties, by key. An empty KEY signs nothing.
//
//===----------------------------------------------------------------------===//
#include "artifact/Writer.h"
#include "test/unit/sample/GpuSample.h"
#include "test/unit/sample/SplitSample.h"
#include "test/unit/sample/VideoSample.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

int main(int argc, char **argv) {
  if (argc < 2)
    return 1;
  auto number = [&](int i, unsigned otherwise) {
    return argc > i ? static_cast<unsigned>(strtoul(argv[i], nullptr, 10))
                    : otherwise;
  };
  std::unique_ptr<nnv12::test::Sample> sample;
  bool hasProperties = argc > 2 && strcmp(argv[2], "properties") == 0;
  if (hasProperties) {
    sample = std::make_unique<nnv12::test::PlannedSample>(2, 3, 2);
    for (int i = 3; i < argc; ++i) {
      const char *equals = strchr(argv[i], '=');
      if (!equals)
        return 1;
      sample->bundle.properties.push_back(
          {std::string(argv[i], size_t(equals - argv[i])), equals + 1});
    }
  } else if (argc > 2 && strcmp(argv[2], "gpu") == 0)
    sample = std::make_unique<nnv12::test::GpuSample>();
  else if (argc > 2 && strcmp(argv[2], "split") == 0)
    sample = std::make_unique<nnv12::test::SplitSample>();
  else if (argc > 2 && strcmp(argv[2], "video") == 0)
    sample = std::make_unique<nnv12::test::VideoSample>();
  else if (argc > 2 && strcmp(argv[2], "tail") == 0) {
    sample = std::make_unique<nnv12::test::VideoSample>();
    nnv12::test::joinTail(sample->bundle, 3);
  } else if (argc > 4)
    sample = std::make_unique<nnv12::test::PlannedSample>(
        number(2, 3), number(4, 2), number(5, 1));
  else
    sample = std::make_unique<nnv12::test::Sample>(number(2, 3));
  std::string error = nnv12::artifact::writeBundle(
      sample->bundle, argv[1], argc > 3 && !hasProperties ? argv[3] : "");
  if (!error.empty())
    fprintf(stderr, "make-sample-bundle: %s\n", error.c_str());
  return error.empty() ? 0 : 1;
}
