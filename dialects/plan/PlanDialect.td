//===- PlanDialect.td - The plan dialect -------------------*- tablegen -*-===//
#ifndef NNV12_DIALECTS_PLAN_PLANDIALECT
#define NNV12_DIALECTS_PLAN_PLANDIALECT

include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::nnv12::plan";
  let summary = "The work of a first inference, by time and lane";
  let description = [{
    A `plan.program` stands beside the model's function in the module. Its
    operations are the stages of the layers' routines (read, decode, transform,
    execute: NNV12, section 3.1); the `!plan.done` that each yields stands for
    its end, so that dependencies are operands. `plan.lane` gives them to lanes,
    in order. A layer is meant by its number among the function's layers that
    execute, in their order: no constants, and none that is in place already.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // NNV12_DIALECTS_PLAN_PLANDIALECT
