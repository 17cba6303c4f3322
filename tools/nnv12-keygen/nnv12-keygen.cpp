//===- nnv12-keygen.cpp - Makes a key pair for signing bundles ------------===//
#include "artifact/KeyFile.h"
#include "artifact/Sodium.h"
#include "tools/common/Options.h"
#include "tools/common/Report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/random.h>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::tools;
using artifact::KeyKind;

static constexpr char overview[] =
    "makes an Ed25519 key pair for signing bundles: NAME.key, to be kept "
    "secret, and NAME.pub. A signature covers a bundle's header and, by way of "
    "their digests, its metadata, all code and all weights";

static constexpr char examples[] =
    R"(  nnv12-keygen release
      writes release.key and release.pub; neither may exist
  nnv12c model.onnx -o model.nnv --sign release.key
  nnv12-run model.nnv --public-key release.pub --random
)";

int main(int argc, char **argv) {
  std::string name;
  Options options("nnv12-keygen", overview, examples);
  options.positional("NAME", name);
  options.parse(argc, argv);

  uint8_t seed[32], publicKey[32];
  if (getrandom(seed, sizeof seed, 0) != sizeof seed)
    fail(std::string("cannot get random bytes: ") + strerror(errno));
  artifact::Fault fault;
  if (!artifact::signWithSeed(seed, nullptr, 0, publicKey, nullptr, fault))
    fail(fault.text);
  std::string secretPath = name + ".key", publicPath = name + ".pub";
  if (!artifact::writeKeyFile(secretPath.c_str(), KeyKind::Secret, seed, fault))
    fail(secretPath + ": " + fault.text);
  if (!artifact::writeKeyFile(publicPath.c_str(), KeyKind::Public, publicKey,
                              fault)) {
    unlink(secretPath.c_str());
    fail(publicPath + ": " + fault.text);
  }
  printf("%s (keep it secret), %s\n", secretPath.c_str(), publicPath.c_str());
  finishOutput();
}
