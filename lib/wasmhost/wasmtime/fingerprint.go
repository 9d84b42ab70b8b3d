package wasmtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/cpu"
)

// Fingerprint names the code this engine makes and takes (ART-127): the start of
// a SHA-256 over version, settings, target, CPU features, this program's build,
// and format, which is the caller's name for what it compiles. It is safe in a
// file name.
func Fingerprint(format string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		"wasmtime", Version, Settings(), runtime.GOOS, runtime.GOARCH, features(), format, build(),
	}, "\n")))
	return "wasmtime-" + Version + "-" + hex.EncodeToString(sum[:8])
}

// features lists the CPU features that the code generator may use. The library
// refuses a form that asks for more than the CPU has; one compiled for less
// would only be slow.
func features() string {
	switch runtime.GOARCH {
	case "amd64":
		x := cpu.X86
		return fmt.Sprint(x.HasSSE3, x.HasSSSE3, x.HasSSE41, x.HasSSE42, x.HasPOPCNT, x.HasAVX, x.HasAVX2, x.HasFMA,
			x.HasBMI1, x.HasBMI2, x.HasAVX512F, x.HasAVX512BITALG, x.HasAVX512DQ, x.HasAVX512VL, x.HasAVX512VBMI)
	case "arm64":
		a := cpu.ARM64
		return fmt.Sprint(a.HasATOMICS, a.HasFPHP, a.HasASIMDHP)
	}
	return ""
}

// build tells builds of the product apart: the version of the module that holds
// this package, or the revision it was built from. The programs of one build
// share compiled forms, so nothing of the program's own name goes in.
func build() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var parts []string
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			parts = append(parts, s.Key+"="+s.Value)
		}
	}
	for _, d := range b.Deps {
		if strings.HasSuffix(d.Path, "/mur/lib") || strings.HasPrefix(d.Path, "github.com/bytecodealliance/wasmtime-go/") {
			parts = append(parts, d.Path+"="+d.Version+d.Sum)
		}
	}
	return strings.Join(parts, " ")
}
