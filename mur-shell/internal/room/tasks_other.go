//go:build !linux && !darwin

package room

// counted: nobody counts the tasks of a user here, and a limit of processes
// without them would stop the first command of a busy user (CON-289).
const counted = false

func tasksOf(int) uint64 { return 0 }
