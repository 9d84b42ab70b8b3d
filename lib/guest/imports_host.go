//go:build !wasip1

package guest

// On the host there is no runtime behind the functions: each answers
// "not available" (-3), and the slot is empty.

const unavailable = -3

func slotLen() int32                  { return 0 }
func slotRead([]byte) int32           { return 0 }
func httpOpen([]byte) int32           { return unavailable }
func httpRead(int32, []byte) int32    { return unavailable }
func httpClose(int32) int32           { return unavailable }
func emitChunk(int32, string) int32   { return unavailable }
func requestInput(string) int32       { return unavailable }
func invokeTool(string, []byte) int32 { return unavailable }
func call(string, []byte) int32       { return unavailable }
