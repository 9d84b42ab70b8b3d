//go:build !wasip1

package murmur

// On the host there is no runtime behind the functions: each answers
// "not available" (-3), and the slot is empty.

const unavailable = -3

func slotLen() int32                  { return 0 }
func slotRead([]byte) int32           { return 0 }
func HTTPOpen([]byte) int32           { return unavailable }
func HTTPRead(int32, []byte) int32    { return unavailable }
func HTTPClose(int32) int32           { return unavailable }
func EmitChunk(int32, string) int32   { return unavailable }
func RequestInput(string) int32       { return unavailable }
func InvokeTool(string, []byte) int32 { return unavailable }
func Call(string, []byte) int32       { return unavailable }
