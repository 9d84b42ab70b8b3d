//go:build !linux || !cgo

package worker

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// told is the descriptor on which a starter says why it could not start a program.
// It closes by itself when it could.
const told = 3

// Main starts a program with limits in the place of this process, if this process
// was made for that, and then never returns. A program that starts workers calls
// it first thing in main.
func Main() {
	if os.Args[0] != Name || len(os.Args) < 4 {
		return
	}
	step, err := becomeCommand(os.Args[1], os.Args[2], os.Args[3:])
	errno, ok := err.(syscall.Errno)
	if !ok {
		errno = unix.EIO
	}
	say := binary.LittleEndian.AppendUint32(nil, uint32(errno))
	_, _ = os.NewFile(told, "told").Write(append(say, step...))
	os.Exit(126)
}

// becomeCommand returns only to say which step could not be done.
func becomeCommand(limits, program string, argv []string) (step string, err error) {
	if err := keepToOneself(); err != nil {
		return "mark descriptors close-on-exec", err
	}
	if err := setLimits(limits); err != nil {
		return "set limits", err
	}
	return "execve", syscall.Exec(program, argv, os.Environ())
}

// keepToOneself marks every descriptor but the standard ones as closed by execve:
// whoever started us may have left some open that commands must not have.
func keepToOneself() error {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return unix.ENOENT
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return unix.EIO
	}
	seen := false
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 {
			continue
		}
		seen = seen || fd == told
		unix.CloseOnExec(fd)
	}
	if !seen {
		return unix.EBADF // a /dev/fd that lists only the standard ones (fdescfs(5))
	}
	return nil
}

// kinds are the limits in the order they are set: address space last, since what
// runs here needs some as well.
var kinds = []int{unix.RLIMIT_NOFILE, unix.RLIMIT_FSIZE, unix.RLIMIT_CPU, unix.RLIMIT_NPROC, unix.RLIMIT_AS}

// String is the limits as Main takes them: five numbers, - for what is inherited.
func (l Limits) String() string {
	var words []string
	for _, v := range []*uint64{l.OpenFiles, l.FileSize, l.CPUSeconds, l.Processes, l.AddressSpace} {
		word := "-"
		if v != nil {
			word = strconv.FormatUint(*v, 10)
		}
		words = append(words, word)
	}
	return strings.Join(words, ",")
}

func setLimits(text string) error {
	words := strings.Split(text, ",")
	if len(words) != len(kinds) {
		return unix.EINVAL
	}
	if err := setLimit(unix.RLIMIT_CORE, 0); err != nil {
		return err
	}
	for i, word := range words {
		if word == "-" {
			continue
		}
		v, err := strconv.ParseUint(word, 10, 63)
		if err != nil {
			return unix.EINVAL
		}
		if err := setLimit(kinds[i], v); err != nil {
			return err
		}
	}
	return nil
}

// setLimit sets both limits to value, or to the hard one where that is lower
// (CON-171, CON-172).
func setLimit(kind int, value uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(kind, &l); err != nil {
		return err
	}
	hard := value
	if kind == unix.RLIMIT_CPU {
		hard++ // or the kernel would kill without saying why
	}
	if h := uint64(l.Max); hard > h {
		hard = h
	}
	l.Cur, l.Max = number(l.Cur, min(value, hard)), number(l.Max, hard)
	return syscall.Setrlimit(kind, &l)
}

// number gives v the type of a limit, which is not the same everywhere.
func number[T int64 | uint64](_ T, v uint64) T { return T(v) }

// readStep reads what a starter could not do, nil when the program runs.
func readStep(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, 256))
	switch {
	case err != nil:
		return fmt.Errorf("hear of the start: %w", err)
	case len(text) < 4:
		return nil
	}
	return &StepError{Step: string(text[4:]), Errno: syscall.Errno(binary.LittleEndian.Uint32(text))}
}
