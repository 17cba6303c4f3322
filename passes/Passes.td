//===- Passes.td - Passes on nn layers ----------------------*- tablegen -*-===//
#ifndef NNV12_PASSES_PASSES
#define NNV12_PASSES_PASSES

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "give every tensor a memory layout and insert adapts";
  let description = [{
    Each layer is computed by the first routine that matches it. The layouts that
    the routine asks for become the layouts of its operands and results; where a
    value comes in another one, an `nn.adapt` goes between (constants are simply
    packed otherwise). A layer whose routine takes any layout keeps that of
    its operands, so that a chain of element-wise layers between two convolutions
    stays in their blocks. Model inputs and outputs are dense.
  }];
  let statistics = [
    Statistic<"adapts", "adapts", "nn.adapt layers inserted">
  ];
}

def FuseElementwise : Pass<"fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "make one kernel of neighbouring element-wise layers";
  let description = [{
    A layer that is computed element by element, and whose only users are in the
    same group, is evaluated where it is used: nothing between the layers of a
    group goes through memory. Data movement (transpose, slice, concat, adapt…)
    joins in, because it is only another index into the operand.
  }];
  let options = [
    Option<"maxLayers", "max-layers", "unsigned", /*default=*/"24",
           "largest group; bounds the size of a kernel">
  ];
  let statistics = [
    Statistic<"groups", "groups", "nn.fuse layers made">,
    Statistic<"fused", "fused", "layers that went into a group">
  ];
}

#endif // NNV12_PASSES_PASSES
