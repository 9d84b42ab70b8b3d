package attempt

// gate enters the kernel through the 32-bit call gate with zero arguments.
func gate(nr uint32) int32

func gate32(nr uint32) (int32, bool) { return gate(nr), true }
