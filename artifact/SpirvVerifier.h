//===- SpirvVerifier.h - Checks SPIR-V before a driver sees it --*- C++ -*-===//
//
// Drivers take SPIR-V for valid and may crash, or worse, where it is not. A
// module that passes here is a compute module of the kind that the compiler
// writes: version 1.0 to 1.3, Logical addressing, one entry point `main`,
// structured control flow, instructions of a list with operands of the right
// types, and exactly the resources that the bundle declares for it. Less is
// accepted than Vulkan allows: unsigned integer types, blocks that are one
// array, pointers that are a variable or one access chain into it, blocks with
// one predecessor but where a merge instruction names them, one return at the
// end, no unreachable code.
//
// It does *not* promise
//   - that this replaces spirv-val, which our tests hold against it: rules that
//     no accepted construct can break are not here, nor are limits of devices
//     beyond those of the interface;
//   - that accesses stay inside of their buffers, which only robust access can
//     see to, or inside of workgroup memory at an index that is computed; that
//     loops end, that barriers are met by all invocations;
//   - that the module computes its layer. The digest of its segment catches
//     damage and exchange, the bundle's signature forgery.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_SPIRVVERIFIER_H
#define NNV12_ARTIFACT_SPIRVVERIFIER_H

#include "artifact/Fault.h"
#include "artifact/SpirvInterface.h"

#include <cstddef>

namespace nnv12::artifact {

/// Bytes of scratch that the module needs: in proportion to the bound of its
/// ids, 2.5 MB at most, some 10 KB as kernels are. 0 where the bound is none;
/// verifySpirv tells.
size_t spirvScratchSize(const SpirvInterface &module);

/// Checks `module` with the constants given. `scratch`, aligned as malloc()
/// does, is all the memory that it uses; of time it takes as much as words are
/// there. A fault says at which word something else than expected was found.
[[nodiscard]] bool verifySpirv(const SpirvInterface &module, void *scratch,
                               size_t scratchSize, Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SPIRVVERIFIER_H
