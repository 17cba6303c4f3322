// NumPy's .npy files as ONNX Runtime's tensors.
"use strict";
const fs = require("fs");

// NumPy's element types, ONNX Runtime's names for them and JavaScript's arrays.
const TYPES = [
  ["<f4", "float32", Float32Array],
  ["<f8", "float64", Float64Array],
  ["<f2", "float16", Uint16Array],
  ["|i1", "int8", Int8Array],
  ["|u1", "uint8", Uint8Array],
  ["<i2", "int16", Int16Array],
  ["<u2", "uint16", Uint16Array],
  ["<i4", "int32", Int32Array],
  ["<u4", "uint32", Uint32Array],
  ["<i8", "int64", BigInt64Array],
  ["<u8", "uint64", BigUint64Array],
  ["|b1", "bool", Uint8Array],
];

/// `Tensor`: the class of onnxruntime-common.
function readNpy(file, Tensor) {
  const bytes = fs.readFileSync(file);
  const wide = bytes[6] >= 2;  // version 2 has a 4-byte header length
  const start =
      (wide ? 12 : 10) + (wide ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.toString("latin1", 10, start);
  const descr = /'descr':\s*'([^']+)'/.exec(header)[1];
  if (/'fortran_order':\s*True/.test(header))
    throw new Error(`${file}: not in C order`);
  const dims = /'shape':\s*\(([^)]*)\)/.exec(header)[1]
                   .split(",")
                   .filter(s => s.trim())
                   .map(Number);
  const type = TYPES.find(t => t[0] === descr);
  if (!type) throw new Error(`${file}: element type ${descr} is not known`);
  const data = new type[2](bytes.buffer.slice(
      bytes.byteOffset + start, bytes.byteOffset + bytes.length));
  return new Tensor(type[1], data, dims);
}

function writeNpy(file, tensor) {
  const descr = TYPES.find(t => t[1] === tensor.type)[0];
  const shape =
      tensor.dims.length === 1 ? `${tensor.dims[0]},` : tensor.dims.join(", ");
  let header =
      `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape}), }`;
  header += " ".repeat(63 - (10 + header.length) % 64) + "\n";
  const prefix = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 0, 0]);
  prefix.writeUInt16LE(header.length, 8);
  const d = tensor.data;
  fs.writeFileSync(file, Buffer.concat([
    prefix, Buffer.from(header, "latin1"),
    Buffer.from(d.buffer, d.byteOffset, d.byteLength)
  ]));
}

module.exports = {
  readNpy,
  writeNpy
};
