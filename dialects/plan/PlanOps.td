//===- PlanOps.td - Operations and lanes -------------------*- tablegen -*-===//
#ifndef NNV12_DIALECTS_PLAN_PLANOPS
#define NNV12_DIALECTS_PLAN_PLANOPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "dialects/plan/PlanDialect.td"

def Plan_DoneType : TypeDef<Plan_Dialect, "Done"> {
  let mnemonic = "done";
  let summary = "the end of an operation";
}

def Plan_StoredForm : AttrDef<Plan_Dialect, "StoredForm"> {
  let mnemonic = "form";
  let summary = "how a layer's main weights lie in the file (StoredForm.h)";
  let parameters = (ins "::nnv12::plan::Storage":$storage,
      "std::optional<::nnv12::plan::Narrowing>":$narrow,
      "::nnv12::plan::Codec":$codec);
  let builders = [AttrBuilder<(ins "const ::nnv12::plan::StoredForm &":$form),
                              [{
    return $_get($_ctxt, form.storage, form.narrow, form.codec);
  }]>];
  let extraClassDeclaration = [{
    ::nnv12::plan::StoredForm getForm() const {
      return {getStorage(), getNarrow(), getCodec()};
    }
  }];
  let hasCustomAssemblyFormat = 1;
}

class Plan_Enum<string name, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, "", cases> {
  let cppNamespace = "::nnv12::plan";
}

def Plan_LaneKind : Plan_Enum<"LaneKind", [I32EnumAttrCase<"execute", 0>,
                                           I32EnumAttrCase<"prepare", 1>]>;
def Plan_CoreKind : Plan_Enum<"CoreKind", [I32EnumAttrCase<"any", 0>,
                                           I32EnumAttrCase<"big", 1>,
                                           I32EnumAttrCase<"little", 2>]>;
def Plan_GpuStart : Plan_Enum<"GpuStart", [I32EnumAttrCase<"at_open", 0>,
                                           I32EnumAttrCase<"after_first", 1>]>;

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

/// One that others may wait for.
class Plan_Step<string mnemonic, list<Trait> traits = []>
    : Plan_Op<mnemonic, traits> {
  let results = (outs Plan_DoneType:$done);
}
/// One that prepares the GPU.
class Plan_GpuStep<string mnemonic> : Plan_Step<mnemonic, [HasParent<"GpuOp">]>;

def Plan_ProgramOp
    : Plan_Op<"program", [SingleBlock, NoTerminator, NoRegionArguments,
                          IsolatedFromAbove]> {
  let summary = "the plan of a model for one target";
  let description = [{
    `cold` and `warm` are the simulated times of a first and of a later
    inference, in nanoseconds. With `later_waits` the background begins when
    there is a first result, else beside the first inference.
    Operations come before their users; lanes come
    last, the execute lane first. Each stage is in one lane's queue or
    background. Before `schedule` there are no lanes.

    Verified: each layer that has a stage has one execute, in the order of
    layers; its weights go from read over decode to the form that is executed
    without a step missing; nothing waits for a later operation of its own lane
    or, around several lanes, for itself.
  }];
  let arguments = (ins StrAttr:$target, I32Attr:$threads,
      OptionalAttr<I64Attr>:$cold, OptionalAttr<I64Attr>:$warm,
      UnitAttr:$later_waits);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $target `threads` `(` $threads `)` (`cold` `(` $cold^ `)`)?
    (`warm` `(` $warm^ `)`)? (`later_waits` $later_waits^)?
    attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// The lanes, the execute lane first; none before the plan is scheduled.
    llvm::SmallVector<LaneOp> lanes();
    /// The part that a GPU may take over; null where there is none.
    GpuOp gpu();
    /// Executes and all that they wait for: a first inference needs these. Only
    /// switches wait for the others.
    llvm::DenseSet<mlir::Operation *> firstOperations();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_ReadOp : Plan_Step<"read"> {
  let summary = "bring a layer's weights from storage into memory";
  let description = [{
    All constants of the layer that no earlier layer has read; they lie together
    in the file. `storage` tells the form of the main one, operand number
    `operand` of the layer: `packed+q8+zstd`.
  }];
  let arguments = (ins I64Attr:$layer, I64Attr:$operand,
      Plan_StoredForm:$stored);
  let assemblyFormat = "$layer `operand` `(` $operand `)` `storage` `(` "
                       "custom<Form>($stored) `)` attr-dict";
  let extraClassDeclaration = [{
    ::nnv12::plan::StoredForm form() { return getStored().getForm(); }
  }];
  let hasVerifier = 1;
}

def Plan_DecodeOp : Plan_Step<"decode"> {
  let summary = "decompress a layer's main weights";
  let arguments = (ins Plan_DoneType:$after, I64Attr:$layer);
  let assemblyFormat = "$layer `after` `(` $after `)` attr-dict";
}

def Plan_TransformOp : Plan_Step<"transform"> {
  let summary = "compute the next form of a layer's main weights";
  let description = [{
    `form` is "packed" (from raw: the layout of the operand; from narrow: its
    element type) or the name of the weight form of `routine` (from packed).
  }];
  let arguments = (ins Plan_DoneType:$after, I64Attr:$layer, StrAttr:$form,
      StrAttr:$routine);
  let assemblyFormat = "$layer `form` `(` $form `)` `routine` `(` $routine `)` "
                       "`after` `(` $after `)` attr-dict";
}

def Plan_ExecuteOp : Plan_Step<"execute"> {
  let summary = "compute a layer";
  let description =
      [{Also waits for the execute before it in the execute lane.}];
  let arguments = (ins Variadic<Plan_DoneType>:$after, I64Attr:$layer,
      StrAttr:$routine);
  let assemblyFormat =
      "$layer `routine` `(` $routine `)` (`after` `(` $after^ `)`)? attr-dict";
}

def Plan_SwitchOp : Plan_Op<"switch"> {
  let summary = "compute a layer by another routine in later inferences";
  let description = [{
    Taken over between two inferences once `after` is done (section 3.5).
  }];
  let arguments = (ins Variadic<Plan_DoneType>:$after, I64Attr:$layer,
      StrAttr:$routine);
  let assemblyFormat =
      "$layer `routine` `(` $routine `)` (`after` `(` $after^ `)`)? attr-dict";
}

def Plan_LaneOp : Plan_Op<"lane", [AttrSizedOperandSegments]> {
  let summary = "a queue of operations bound to cores";
  let arguments = (ins Plan_LaneKind:$kind, Plan_CoreKind:$core,
      Variadic<Plan_DoneType>:$queue, Variadic<Plan_DoneType>:$background);
  let assemblyFormat = [{
    $kind `on` $core `queue` `(` $queue `)`
    (`background` `(` $background^ `)`)? attr-dict
  }];
}

def Plan_GpuOp : Plan_Op<"gpu", [SingleBlock, NoTerminator, NoRegionArguments,
                                 HasParent<"ProgramOp">]> {
  let summary = "the part of a plan for CPUs that a GPU may take over";
  let description = [{
    An overlay: the program is complete without. Its kernels are made for
    `target`; its times are by `profile`. With `start` at_open the
    first inference hands over, with after_first it is the CPUs'. `cold` and
    `warm` are the simulated times of a first and of a later inference.

    In this order: preparations (device, pipelines, uploads, records),
    stretches, GPU-host lanes. Stretches are numbered, and ordered by their
    first layer, the longest first.

    Verified: the device comes first, and all other preparations wait for it;
    each kernel is made once, each layer uploaded once, each stretch recorded
    once, after the pipelines of its kernels; each preparation is in one lane,
    and waits for none that comes later.
  }];
  let arguments = (ins StrAttr:$target, StrAttr:$profile, Plan_GpuStart:$start,
      OptionalAttr<I64Attr>:$cold, OptionalAttr<I64Attr>:$warm);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $target `profile` `(` $profile `)` `start` `(` $start `)`
    (`cold` `(` $cold^ `)`)? (`warm` `(` $warm^ `)`)? attr-dict-with-keyword
    $body
  }];
  let extraClassDeclaration = [{
    llvm::SmallVector<StretchOp, 4> stretches();
    /// The operations of lanes, in an order in which each can begin by its lane
    /// and by the GPU's operations that it waits for; of several that can, the
    /// one that is planned to be first. Lanes that wait for each other end it
    /// before they end.
    std::vector<mlir::Operation *> preparationsInOrder();
  }];
  let hasRegionVerifier = 1;
}

def Plan_DeviceOp : Plan_GpuStep<"device"> {
  let summary = "find the GPU and open it";
  let assemblyFormat = "attr-dict";
}

def Plan_PipelineOp : Plan_GpuStep<"pipeline"> {
  let summary = "make pipelines of kernels, by one call of the driver";
  let arguments = (ins Variadic<Plan_DoneType>:$after, StrArrayAttr:$kernels);
  let assemblyFormat = "$kernels `after` `(` $after `)` attr-dict";
}

def Plan_UploadOp : Plan_GpuStep<"upload"> {
  let summary = "bring a layer's constants to where the GPU reads them";
  let description = [{
    Those that no earlier upload has brought. Waits for the program's
    preparations that make them, too.
  }];
  let arguments = (ins Variadic<Plan_DoneType>:$after, I64Attr:$layer);
  let assemblyFormat = "$layer `after` `(` $after `)` attr-dict";
}

def Plan_RecordOp : Plan_GpuStep<"record"> {
  let summary = "record the commands of a stretch";
  let arguments = (ins Variadic<Plan_DoneType>:$after, I64Attr:$stretch);
  let assemblyFormat = "$stretch `after` `(` $after `)` attr-dict";
}

def Plan_StretchOp
    : Plan_Op<"stretch", [SingleBlock, NoTerminator, NoRegionArguments,
                          HasParent<"GpuOp">]> {
  let summary = "consecutive layers that the GPU can take over";
  let description = [{
    Layers `first` to `first` + `count` - 1, once `after` is done; each is
    computed by a dispatch. `cold`: the first inference may take it. `warm`:
    later ones do. `predicted`: nanoseconds with both hand-overs.

    `split`: the GPU and the CPU compute it at once. Results that others read
    are cut at position `at` of dimension `dim`: the GPU has the positions
    before, the CPU all others. Each layer has a part behind the dispatches.
    Later inferences alone take such a stretch.
  }];
  let arguments = (ins Variadic<Plan_DoneType>:$after, I64Attr:$first,
      I64Attr:$count, UnitAttr:$cold, UnitAttr:$warm,
      OptionalAttr<I64Attr>:$predicted, OptionalAttr<I64Attr>:$dim,
      OptionalAttr<I64Attr>:$at);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `layers` `(` $first `,` $count `)` `after` `(` $after `)` (`cold` $cold^)?
    (`warm` $warm^)? (`predicted` `(` $predicted^ `)`)?
    (`split` `(` $dim^ `at` $at `)`)? attr-dict-with-keyword $body
  }];
}

def Plan_DispatchOp : Plan_Op<"dispatch", [HasParent<"StretchOp">]> {
  let summary = "compute a layer on the GPU";
  let description = [{
    By a routine of GPUs, which dispatches `kernels`, some of them perhaps
    several times. `predicted`: nanoseconds of each dispatch. `half`: which of
    the layer's tensors of f32 are in f16 in the GPU's memory, a bit each,
    results first (`codegen/gpu/HalfMemory.h`). `front`, in a stretch that is
    split: computes the positions before that one alone.
  }];
  let arguments = (ins I64Attr:$layer, StrAttr:$routine, StrArrayAttr:$kernels,
      OptionalAttr<DenseI64ArrayAttr>:$predicted, OptionalAttr<I64Attr>:$half,
      OptionalAttr<I64Attr>:$front);
  let assemblyFormat = [{
    $layer `routine` `(` $routine `)` `kernels` `(` $kernels `)`
    (`predicted` `(` $predicted^ `)`)? (`half` `(` $half^ `)`)?
    (`front` `(` $front^ `)`)? attr-dict
  }];
}

def Plan_PartOp : Plan_Op<"part", [HasParent<"StretchOp">]> {
  let summary = "compute a part of a layer on the CPU, beside the GPU";
  let description = [{
    All positions of the result from `back` on, by the kernel of parts of the
    routine that later inferences have for the layer, in tiles that begin there.
  }];
  let arguments = (ins I64Attr:$layer, StrAttr:$routine, I64Attr:$back);
  let assemblyFormat = [{
    $layer `routine` `(` $routine `)` `back` `(` $back `)` attr-dict
  }];
}

def Plan_GpuLaneOp : Plan_Op<"gpu_lane", [HasParent<"GpuOp">]> {
  let summary = "a queue of preparations of the GPU, on a thread of the CPU";
  let arguments = (ins Variadic<Plan_DoneType>:$queue);
  let assemblyFormat = "`queue` `(` $queue `)` attr-dict";
}

#endif // NNV12_DIALECTS_PLAN_PLANOPS
