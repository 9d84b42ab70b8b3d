package memory

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// CON-118: another process of the user can not read it; root could.
func TestHide(t *testing.T) {
	if os.Getenv("MUR_TEST_HIDE") != "" {
		Hide()
		dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		fmt.Println(dumpable, err)
		os.Exit(0)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=TestHide$")
	cmd.Env = append(os.Environ(), "MUR_TEST_HIDE=1")
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) || string(text) != "0 <nil>\n" {
		t.Errorf("%q, %v", text, err)
	}
}
