//===- GpuTarget.cpp - Features that GPU kernels may use ------------------===//

#include "compiler/codegen/gpu/GpuTarget.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace nnv12::codegen;
using llvm::StringRef;

namespace {

struct Named {
  GpuFeature feature;
  StringRef name;
};

constexpr Named names[] = {
    {GpuFeature::Int64, "int64"},       {GpuFeature::Float64, "float64"},
    {GpuFeature::Int8, "int8"},         {GpuFeature::Int16, "int16"},
    {GpuFeature::Storage8, "storage8"}, {GpuFeature::Storage16, "storage16"},
};

constexpr StringRef floorName = "vulkan1.1";

std::string join(GpuFeatures set, StringRef separator) {
  std::string text;
  for (const Named &named : names)
    if (set.has(named.feature))
      text += (text.empty() ? StringRef() : separator).str() + named.name.str();
  return text;
}

} // namespace

std::string GpuFeatures::text() const { return join(*this, ", "); }

GpuTarget GpuTarget::of(GpuFeatures set) {
  GpuTarget target;
  target.features = set;
  target.name = floorName.str();
  if (!set.empty())
    target.name += "+" + join(set, "+");
  return target;
}

GpuTarget GpuTarget::everything() {
  GpuFeatures all;
  for (const Named &named : names)
    all.add(named.feature);
  return of(all);
}

std::optional<GpuTarget> GpuTarget::byName(StringRef name) {
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '+');
  if (parts.front() != floorName)
    return std::nullopt;
  GpuFeatures set;
  for (StringRef part : llvm::drop_begin(parts)) {
    bool known = part == "all";
    if (known)
      set = everything().features;
    for (const Named &named : names)
      if (named.name == part) {
        set.add(named.feature);
        known = true;
      }
    if (!known)
      return std::nullopt;
  }
  return of(set);
}

std::string GpuTarget::choices() {
  return floorName.str() + ", or that with features (+" +
         join(everything().features, ", +") + ", +all)";
}
