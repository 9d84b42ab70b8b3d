package room

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// counted: tasksOf counts here.
const counted = true

// tasksOf counts the tasks of a user, 0 when they can not be counted (CON-173).
func tasksOf(uid int) uint64 {
	statuses, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0
	}
	var total uint64
	want := "\nUid:\t" + strconv.Itoa(uid) + "\t"
	for _, path := range statuses {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), want) {
			continue
		}
		_, after, _ := strings.Cut(string(text), "\nThreads:\t")
		number, _, _ := strings.Cut(after, "\n")
		if n, err := strconv.ParseUint(number, 10, 32); err == nil {
			total += n
		}
	}
	return total
}
