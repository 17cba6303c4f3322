//===- ImportFuzzer.cpp - Any bytes as an ONNX model ----------------------===//
//
// For any bytes the importer gives a module that verifies, or null after
// exactly one error.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Import.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <cstdint>
#include <cstdlib>
#include <memory>

using namespace nnv12;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A context is dear to make, and keeps all attributes that it has seen: renew
  // it now and then.
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (!context || ++uses % 256 == 0)
    context = std::make_unique<mlir::MLIRContext>(
        mlir::MLIRContext::Threading::DISABLED);

  unsigned errors = 0;
  mlir::ScopedDiagnosticHandler handler(
      context.get(), [&](mlir::Diagnostic &diagnostic) {
        errors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        return mlir::success();
      });
  ImportOptions options;
  options.maxTensorBytes = 1 << 16;
  options.maxNodes = 256;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      importOnnxBuffer({reinterpret_cast<const char *>(data), size},
                       "/nonexistent/fuzz.onnx", options, *context);
  if (errors != (module ? 0 : 1))
    abort();
  if (module && mlir::failed(mlir::verify(*module)))
    abort();
  return 0;
}
