//go:build wasip1

package murmur

import "unsafe"

// The functions of murmur:core@0.1.0. A pointer is the address of the bytes in
// this program's memory; the runtime reads or writes there during the call only.

//go:wasmimport murmur:core@0.1.0 slot_len
func coreSlotLen() int32

//go:wasmimport murmur:core@0.1.0 slot_read
func coreSlotRead(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport murmur:core@0.1.0 http_open
func coreHTTPOpen(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport murmur:core@0.1.0 http_read
func coreHTTPRead(handle int32, ptr unsafe.Pointer, n uint32) int32

//go:wasmimport murmur:core@0.1.0 http_close
func coreHTTPClose(handle int32) int32

//go:wasmimport murmur:core@0.1.0 emit_chunk
func coreEmitChunk(kind int32, ptr unsafe.Pointer, n uint32) int32

//go:wasmimport murmur:core@0.1.0 request_input
func coreRequestInput(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport murmur:core@0.1.0 invoke_tool
func coreInvokeTool(name unsafe.Pointer, nameLen uint32, in unsafe.Pointer, inLen uint32) int32

//go:wasmimport murmur:core@0.1.0 call
func coreCall(op unsafe.Pointer, opLen uint32, in unsafe.Pointer, inLen uint32) int32

func bytesAt(b []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))
}

func textAt(s string) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))
}

func slotLen() int32 { return coreSlotLen() }

func slotRead(b []byte) int32 {
	p, n := bytesAt(b)
	return coreSlotRead(p, n)
}

func HTTPOpen(request []byte) int32 {
	p, n := bytesAt(request)
	return coreHTTPOpen(p, n)
}

func HTTPRead(handle int32, b []byte) int32 {
	p, n := bytesAt(b)
	return coreHTTPRead(handle, p, n)
}

func HTTPClose(handle int32) int32 { return coreHTTPClose(handle) }

func EmitChunk(kind int32, s string) int32 {
	p, n := textAt(s)
	return coreEmitChunk(kind, p, n)
}

func RequestInput(prompt string) int32 {
	p, n := textAt(prompt)
	return coreRequestInput(p, n)
}

func InvokeTool(name string, in []byte) int32 {
	namePtr, nameLen := textAt(name)
	inPtr, inLen := bytesAt(in)
	return coreInvokeTool(namePtr, nameLen, inPtr, inLen)
}

func Call(op string, in []byte) int32 {
	opPtr, opLen := textAt(op)
	inPtr, inLen := bytesAt(in)
	return coreCall(opPtr, opLen, inPtr, inLen)
}
