//===- DescribeAll.h - Reads all that the API tells -------------*- C++ -*-===//
#ifndef NNV12_TEST_FUZZ_DESCRIBEALL_H
#define NNV12_TEST_FUZZ_DESCRIBEALL_H

#include "runtime/include/nnv12.h"

#include <cstring>

namespace nnv12::test {

inline size_t describe(const nnv12_tensor_info &info) {
  size_t sum = strlen(info.name) + info.byte_size;
  for (uint32_t d = 0; d < info.rank; ++d)
    sum += static_cast<size_t>(info.shape[d]);
  return sum;
}

/// Touches every byte that the API hands out.
inline void describeAll(const nnv12_bundle *bundle) {
  size_t sum = 0;
  for (uint32_t i = 0; i < nnv12_bundle_num_inputs(bundle); ++i)
    sum += describe(*nnv12_bundle_input(bundle, i));
  for (uint32_t i = 0; i < nnv12_bundle_num_outputs(bundle); ++i)
    sum += describe(*nnv12_bundle_output(bundle, i));
  const char *key, *value;
  for (uint32_t i = 0;
       nnv12_bundle_get_property(bundle, i, &key, &value) == NNV12_OK; ++i)
    sum += strlen(value) + strlen(nnv12_bundle_property(bundle, key));
  nnv12_bundle_info info;
  info.struct_size = sizeof info;
  nnv12_bundle_get_info(bundle, &info);
  sum += strlen(info.model) + strlen(info.producer) + strlen(info.target) +
         strlen(info.revision) + size_t(info.kind);
  for (uint32_t i = 0; i < info.num_operations; ++i) {
    nnv12_operation_info operation;
    operation.struct_size = sizeof operation;
    nnv12_bundle_get_operation(bundle, i, &operation);
    sum += strlen(operation.layer) + strlen(operation.kernel) +
           strlen(operation.routine) + strlen(operation.key);
    for (int k = 0; operation.fingerprint && k < 32; ++k)
      sum += operation.fingerprint[k];
  }
  for (uint32_t i = 0; i < info.num_preparations; ++i) {
    nnv12_preparation_info preparation;
    preparation.struct_size = sizeof preparation;
    nnv12_bundle_get_preparation(bundle, i, &preparation);
    sum += strlen(preparation.layer) + strlen(preparation.kernel) +
           preparation.lane;
  }
  for (uint32_t i = 0; i < info.num_switches; ++i) {
    nnv12_switch_info change;
    change.struct_size = sizeof change;
    nnv12_bundle_get_switch(bundle, i, &change);
    sum += strlen(change.kernel) + change.operation;
  }
  volatile size_t sink = sum;
  (void)sink;
}

} // namespace nnv12::test

#endif // NNV12_TEST_FUZZ_DESCRIBEALL_H
