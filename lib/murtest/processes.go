package murtest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Naptime is a number of seconds to sleep that no other process of this machine has
// among its arguments: a test finds what it started by it (Processes).
func Naptime() string {
	return strconv.Itoa(1_000_000_000 + rand.IntN(1_000_000_000))
}

// Processes are those of this machine whose command line holds the word, each as its
// id and its command line. Arguments are separated by NUL bytes (proc(5)). Zombies have
// no command line and are left out: they hold nothing, and whoever is init reaps them
// when it likes.
func Processes(t testing.TB, word string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(text), word) {
			found = append(found, filepath.Base(filepath.Dir(f))+" "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// Within reports whether ok became true within a limit of a specification, looking
// every 10 ms. A busy machine takes the processor from those that are looked at and
// from the test alike, so that of any wait between two looks, whole seconds included,
// no more than 50 ms count.
func Within(limit time.Duration, ok func() bool) bool {
	for spent := time.Duration(0); ; {
		began := time.Now()
		if ok() {
			return true
		}
		if spent >= limit {
			return false
		}
		time.Sleep(10 * time.Millisecond)
		spent += min(time.Since(began), 50*time.Millisecond)
	}
}
