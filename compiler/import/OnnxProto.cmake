# Generates ONNX's messages, and links them with protobuf's static library:
# Debian has no static library of them. The headers that come out are those that
# Debian has installed, which all others include.
find_path(ONNX_PROTO_FILES onnx/onnx-data.proto REQUIRED
  PATHS /usr/lib/python3/dist-packages)
find_library(PROTOBUF_ARCHIVE libprotobuf.a REQUIRED)
set(onnx_files ${CMAKE_CURRENT_BINARY_DIR}/proto)
set(onnx_messages)
foreach(name onnx-ml onnx-data)
  # Debian generates messages that keep fields they do not know, which the
  # compiler looks at. The files ask for smaller ones.
  file(READ ${ONNX_PROTO_FILES}/onnx/${name}.proto text)
  string(REPLACE "option optimize_for = LITE_RUNTIME;" "" text "${text}")
  file(CONFIGURE OUTPUT ${onnx_files}/onnx/${name}.proto
    CONTENT "${text}" @ONLY)
  add_custom_command(
    OUTPUT ${onnx_files}/onnx/${name}.pb.cc ${onnx_files}/onnx/${name}.pb.h
    COMMAND protobuf::protoc -I ${onnx_files} --cpp_out=${onnx_files}
      onnx/${name}.proto
    DEPENDS ${onnx_files}/onnx/${name}.proto VERBATIM)
  list(APPEND onnx_messages ${onnx_files}/onnx/${name}.pb.cc)
endforeach()
add_library(NNV12OnnxProto STATIC ${onnx_messages})
target_compile_options(NNV12OnnxProto PRIVATE -w -ffunction-sections)
target_include_directories(NNV12OnnxProto PRIVATE ${onnx_files})
target_link_libraries(NNV12OnnxProto PUBLIC ${PROTOBUF_ARCHIVE})
