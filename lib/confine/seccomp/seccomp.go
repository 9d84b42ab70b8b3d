// Package seccomp builds and installs the system call filter of a confined
// worker: default-deny, assembled from one table of calls as a BPF program that
// looks at the architecture first (CON section 8, CON-280).
//
// What a filter answers: an allowed call passes; a call the table knows and
// does not allow gets EPERM (EACCES where an argument rule says so); a number
// the table does not know, and clone3, get ENOSYS, so that programs fall back;
// a call of another architecture or of x32 kills the process (CON-92, CON-93).
//
// Build is pure and runs anywhere. Install changes the calling process and is
// called by the worker of mur-shell alone, as its last restriction.
package seccomp

import (
	"fmt"
	"slices"
	"sort"

	"golang.org/x/net/bpf"
)

//go:generate go run ./gen

// Options are the grants a filter depends on.
type Options struct {
	// UnixSockets allows sockets of AF_UNIX (MAN-103).
	UnixSockets bool
	// NoexecMemfd says that the kernel knows MFD_NOEXEC_SEAL; without it
	// memfd_create is refused outright (CON-107).
	NoexecMemfd bool
	// TruncateMediated says that Landlock handles truncation (ABI 3 and later);
	// without it the filter refuses the ways round it (CON-70).
	TruncateMediated bool
}

// Arch is an architecture a filter can be built for.
type Arch struct {
	Name    string
	audit   uint32            // AUDIT_ARCH_* of linux/audit.h
	numbers map[string]uint32 // every call the table knows
	x32     bool              // numbers with bit 30 belong to another ABI
}

// AMD64 and ARM64 are the architectures a filter can be built for.
var (
	AMD64 = Arch{Name: "amd64", audit: 0xc000003e, numbers: numbersamd64, x32: true}
	ARM64 = Arch{Name: "arm64", audit: 0xc00000b7, numbers: numbersarm64}
)

// Number is the number of a call, and whether the architecture has it.
func (a Arch) Number(name string) (uint32, bool) {
	n, ok := a.numbers[name]
	return n, ok
}

// What a filter answers, as linux/seccomp.h encodes it.
const (
	allow       uint32 = 0x7fff0000
	killProcess uint32 = 0x80000000
	errno       uint32 = 0x00050000

	eperm  = errno | 1
	eacces = errno | 13
	enosys = errno | 38
)

// Offsets in struct seccomp_data (seccomp(2)). The low half of a 64-bit argument
// comes first on the little-endian architectures above.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

const x32Bit = 0x40000000

// span is a run of call numbers with one answer: a value of seccomp, or the
// index of an argument rule.
type span struct {
	from   uint32
	answer uint32
	rule   int // -1: answer counts
}

// Build assembles the filter for an architecture.
func Build(a Arch, o Options) ([]bpf.Instruction, error) {
	rules := argumentRules(o)
	spans, err := a.spans(rules, o)
	if err != nil {
		return nil, err
	}
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.audit, SkipTrue: 1},
		bpf.RetConstant{Val: killProcess},
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
	}
	if a.x32 {
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1}, bpf.RetConstant{Val: killProcess})
	}
	return append(prog, tree(spans, rules)...), nil
}

// tree turns spans into a binary search over the call number, each leaf of
// which returns or runs its rule.
func tree(spans []span, rules []rule) []bpf.Instruction {
	if len(spans) == 1 {
		if r := spans[0].rule; r >= 0 {
			return rules[r].code
		}
		return []bpf.Instruction{bpf.RetConstant{Val: spans[0].answer}}
	}
	mid := len(spans) / 2
	low, high := tree(spans[:mid], rules), tree(spans[mid:], rules)
	var prog []bpf.Instruction
	if len(low) <= 255 {
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: spans[mid].from, SkipTrue: uint8(len(low))})
	} else {
		prog = append(prog,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: spans[mid].from, SkipFalse: 1},
			bpf.Jump{Skip: uint32(len(low))})
	}
	return append(append(prog, low...), high...)
}

// spans gives every number its answer, neighbours with the same one merged.
func (a Arch) spans(rules []rule, o Options) ([]span, error) {
	answers := map[uint32]span{}
	for name, n := range a.numbers {
		answers[n] = span{from: n, answer: eperm, rule: -1}
		if slices.Contains(unknown, name) {
			answers[n] = span{from: n, answer: enosys, rule: -1}
		}
	}
	for _, name := range allowed {
		if n, ok := a.numbers[name]; ok { // a name the build does not know only narrows (CON-94)
			answers[n] = span{from: n, answer: allow, rule: -1}
		}
	}
	for i, r := range rules {
		n, ok := a.numbers[r.call]
		if !ok {
			continue
		}
		if answers[n].rule >= 0 {
			return nil, fmt.Errorf("two argument rules for %s", r.call)
		}
		answers[n] = span{from: n, rule: i}
	}
	numbers := make([]uint32, 0, len(answers))
	for n := range answers {
		numbers = append(numbers, n)
	}
	sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })

	out := []span{{from: 0, answer: enosys, rule: -1}}
	add := func(s span) {
		last := &out[len(out)-1]
		switch {
		case s.rule < 0 && last.rule < 0 && s.answer == last.answer:
		case s.from == last.from:
			*last = s
		default:
			out = append(out, s)
		}
	}
	for _, n := range numbers {
		add(answers[n])
		add(span{from: n + 1, answer: enosys, rule: -1})
	}
	// A gap opened after a number is closed by the next number when they are
	// neighbours; what is left may still hold equal neighbours.
	merged := out[:1]
	for _, s := range out[1:] {
		last := merged[len(merged)-1]
		if s.rule < 0 && last.rule < 0 && s.answer == last.answer {
			continue
		}
		merged = append(merged, s)
	}
	return merged, nil
}
