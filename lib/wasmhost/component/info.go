package component

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/cpu"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// formVersion counts changes of what this package compiles a component to that
// no other part of the fingerprint shows.
const formVersion = "1"

// info identifies the engine (ART-127). The fingerprint is the start of a
// SHA-256 over name, version, settings, target, CPU features and build.
var info = sync.OnceValue(func() wasmhost.EngineInfo {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		"wasmtime", wasmtime.Version, wasmtime.Settings(), runtime.GOOS, runtime.GOARCH, features(), formVersion, build(),
	}, "\n")))
	return wasmhost.EngineInfo{
		Name:        "wasmtime",
		Version:     wasmtime.Version,
		Fingerprint: "wasmtime-" + wasmtime.Version + "-" + hex.EncodeToString(sum[:8]),
	}
})

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
