//===- Sodium.cpp - Ed25519 by libsodium, loaded when needed --------------===//
#include "artifact/Sodium.h"

#include <dlfcn.h>

namespace nnv12::artifact {

namespace {
using Verify = int (*)(const unsigned char *sig, const unsigned char *m,
                       unsigned long long size, const unsigned char *pk);
using Sign = int (*)(unsigned char *sig, unsigned long long *sigSize,
                     const unsigned char *m, unsigned long long size,
                     const unsigned char *sk);
using SeedKeypair = int (*)(unsigned char *pk, unsigned char *sk,
                            const unsigned char *seed);
using MemZero = void (*)(void *data, size_t size);
} // namespace

/// Never closed: a second dlopen of a loaded library is cheap, and unloading
/// one that registered handlers is not safe.
static void *load(Fault &fault) {
  // Newest ABI first; all of them have the four functions below.
  static constexpr const char *names[] = {"libsodium.so.26", "libsodium.so.23",
                                          "libsodium.so.18", "libsodium.so"};
  for (const char *name : names) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      continue;
    auto init = reinterpret_cast<int (*)()>(dlsym(library, "sodium_init"));
    if (init && init() >= 0)
      return library;
    dlclose(library);
  }
  fault.set(Fault::Unsupported,
            "signature: libsodium not found, which signatures need (Debian "
            "package libsodium23)");
  return nullptr;
}

template <typename Function>
static bool find(void *library, const char *name, Function &function,
                 Fault &fault) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function || fault.set(Fault::Unsupported,
                               "signature: this libsodium has no %s", name);
}

bool verifySignature(const uint8_t signature[64], const void *message,
                     size_t size, const uint8_t publicKey[32], Fault &fault) {
  void *library = load(fault);
  Verify verify;
  if (!library ||
      !find(library, "crypto_sign_ed25519_verify_detached", verify, fault))
    return false;
  if (verify(signature, static_cast<const unsigned char *>(message), size,
             publicKey) != 0)
    return fault.set(Fault::Untrusted,
                     "signature: not one by the given public key");
  return true;
}

bool signWithSeed(const uint8_t seed[32], const void *message, size_t size,
                  uint8_t publicKey[32], uint8_t *signature, Fault &fault) {
  void *library = load(fault);
  SeedKeypair keypair;
  Sign sign;
  MemZero zero;
  if (!library ||
      !find(library, "crypto_sign_ed25519_seed_keypair", keypair, fault) ||
      !find(library, "crypto_sign_ed25519_detached", sign, fault) ||
      !find(library, "sodium_memzero", zero, fault))
    return false;
  unsigned char secret[64];
  keypair(publicKey, secret, seed);
  if (signature)
    sign(signature, nullptr, static_cast<const unsigned char *>(message), size,
         secret);
  zero(secret, sizeof secret);
  return true;
}

} // namespace nnv12::artifact
