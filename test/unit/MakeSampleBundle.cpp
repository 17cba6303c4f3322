//===- MakeSampleBundle.cpp - make-sample-bundle FILE [TILES [KEY]] -------===//
#include "artifact/Writer.h"
#include "test/unit/SampleBundle.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  if (argc < 2)
    return 1;
  nnv12::test::Sample sample(argc > 2 ? strtoul(argv[2], nullptr, 10) : 3);
  std::string error = nnv12::artifact::writeBundle(sample.bundle, argv[1],
                                                   argc > 3 ? argv[3] : "");
  if (!error.empty())
    fprintf(stderr, "make-sample-bundle: %s\n", error.c_str());
  return error.empty() ? 0 : 1;
}
