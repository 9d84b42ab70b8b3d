package seccomp

import "golang.org/x/net/bpf"

// rule decides one call by its arguments. Its code starts with anything in the
// accumulator and ends in a return on every path.
type rule struct {
	call string
	code []bpf.Instruction
}

// Constants of the system call interface, from the man pages named beside them.
const (
	afUnix, afInet, afInet6, afNetlink, afPacket = 1, 2, 10, 16, 17 // socket(2)

	sockDgram    = 2   // socket(2)
	sockTypeMask = 0xf // flags lie above

	// CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (clone(2)).
	cloneNamespaces = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000

	mfdNoexecSeal        = 8      // memfd_create(2)
	atEmptyPath          = 0x1000 // execveat(2)
	tiocsti              = 0x5412 // ioctl_tty(2)
	tioclinux            = 0x541c
	prSetSeccomp         = 22     // prctl(2)
	oTrunc               = 0o1000 // open(2)
	oAccmode             = 3
	oRdonly       uint32 = 0
)

// argumentRules are the rules of CON-103 to CON-110, and of CON-70 where the
// kernel does not mediate truncation. All compare the low 32 bits (CON-98).
func argumentRules(o Options) []rule {
	unix := uint32(eacces)
	if o.UnixSockets {
		unix = allow
	}
	rules := []rule{
		{"socket", match(0, eperm, is(afInet, allow), is(afInet6, allow), is(afUnix, unix), is(afNetlink, eacces), is(afPacket, eacces))},
		{"clone", anyBit(0, cloneNamespaces, eperm, allow)},
		{"execveat", anyBit(4, atEmptyPath, eacces, allow)},
		{"ioctl", match(1, allow, is(tiocsti, eperm), is(tioclinux, eperm))},
		{"prctl", match(0, allow, is(prSetSeccomp, eperm))},
		{"prlimit64", match(0, eperm, is(0, allow))},
	}
	if o.NoexecMemfd {
		rules = append(rules, rule{"memfd_create", anyBit(1, mfdNoexecSeal, allow, eperm)})
	} else {
		rules = append(rules, rule{"memfd_create", []bpf.Instruction{bpf.RetConstant{Val: eperm}}})
	}
	if !o.UnixSockets {
		rules = append(rules, rule{"socketpair", masked(1, sockTypeMask, sockDgram, eacces, allow)})
	}
	if !o.TruncateMediated {
		rules = append(rules,
			rule{"truncate", []bpf.Instruction{bpf.RetConstant{Val: eperm}}},
			rule{"openat2", []bpf.Instruction{bpf.RetConstant{Val: enosys}}},
			rule{"open", masked(1, oTrunc|oAccmode, oTrunc|oRdonly, eperm, allow)},
			rule{"openat", masked(2, oTrunc|oAccmode, oTrunc|oRdonly, eperm, allow)},
		)
	}
	return rules
}

func argument(i int) bpf.Instruction { return bpf.LoadAbsolute{Off: uint32(offArgs + 8*i), Size: 4} }

// answer pairs a value of an argument with what the filter returns for it.
type answer struct{ value, result uint32 }

func is(value, result uint32) answer { return answer{value, result} }

// match returns the result of the first equal value, else other.
func match(arg int, other uint32, answers ...answer) []bpf.Instruction {
	code := []bpf.Instruction{argument(arg)}
	for _, a := range answers {
		code = append(code,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.value, SkipFalse: 1},
			bpf.RetConstant{Val: a.result})
	}
	return append(code, bpf.RetConstant{Val: other})
}

// anyBit returns set when the argument has any bit of mask, else clear.
func anyBit(arg int, mask, set, clear uint32) []bpf.Instruction {
	return []bpf.Instruction{
		argument(arg),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: mask, SkipFalse: 1},
		bpf.RetConstant{Val: set},
		bpf.RetConstant{Val: clear},
	}
}

// masked returns equal when the argument's bits under mask are value, else other.
func masked(arg int, mask, value, equal, other uint32) []bpf.Instruction {
	return []bpf.Instruction{
		argument(arg),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: 1},
		bpf.RetConstant{Val: equal},
		bpf.RetConstant{Val: other},
	}
}
