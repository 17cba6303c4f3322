//===- KnownProperties.h - Known properties of inputs -----------*- C++ -*-===//
//
// Exporters write the meaning of a model's input and output into
// metadata_props, each by keys of its own. Here that becomes one set of keys,
// for all bundles:
//
//   labels  the names of classes, one a line
//   scale   a number: each pixel, 0 to 255, is multiplied by it first,
//   mean    then these are subtracted: one number, or one a channel,
//           with commas
//   std     then divided by these
//   color   rgb or bgr: the order of the model's channels, of mean and std
//   layout  nchw or nhwc
//   fit     stretch, crop or pad: how a picture gets the input's size
//   sample_rate  how many samples of sound the model takes a second
//
// Texts alone: no MLIR, no files.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_IMPORT_KNOWNPROPERTIES_H
#define NNV12_COMPILER_IMPORT_KNOWNPROPERTIES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace nnv12::importer {

using Properties = std::map<std::string, std::string>;

/// The shapes that properties must fit to.
struct PropertyShapes {
  /// The channels of the first input that is a picture, as `layout` reads it;
  /// 0: there is none. The same for either order of dimensions.
  unsigned channelsFirst = 0, channelsLast = 0;
  /// The number of classes, if the first output is one score a class; else 0.
  uint64_t classes = 0;
};

/// Whether `key` is one of those above.
bool isKnownProperty(llvm::StringRef key);

/// Brings the value of a known key into its form. Empty, or a fault: "found X,
/// expected Y".
std::string normalizeProperty(llvm::StringRef key, std::string &value);

/// Compares normalized properties with the model's shapes. Calls `report` with
/// each key that does not fit, and its fault.
void checkProperties(
    const Properties &properties, const PropertyShapes &shapes,
    llvm::function_ref<void(llvm::StringRef key, const std::string &fault)>
        report);

/// Translates the model's own properties to the keys above. Calls `report` with
/// the model's key where its value cannot be taken.
Properties knownProperties(
    const Properties &model,
    llvm::function_ref<void(llvm::StringRef key, const std::string &fault)>
        report);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_KNOWNPROPERTIES_H
