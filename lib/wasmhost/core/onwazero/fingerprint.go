package onwazero

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

const wazeroPath = "github.com/tetratelabs/wazero"

// Info identifies the engine of New. Its fingerprint is made of what decides the
// code (ART-127): engine and version, settings, target, CPU features, this program's build.
// Commands built from the same source share it, so that mur-launch takes what
// mur-stage compiled.
func Info() wasmhost.EngineInfo {
	version, build := "unknown", ""
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range bi.Deps {
			if dep.Path == wazeroPath {
				version = dep.Version
			}
		}
		build = buildText(bi)
	}
	h := sha256.New()
	for _, part := range []string{
		"wazero", version, configText, formFormat,
		runtime.GOOS, runtime.GOARCH, cpuText(), build,
	} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return wasmhost.EngineInfo{
		Name: "wazero", Version: version,
		Fingerprint: "wazero-" + hex.EncodeToString(h.Sum(nil)[:12]),
	}
}

// buildText identifies the source this program was built from, without the
// name of the command.
func buildText(bi *debug.BuildInfo) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", bi.GoVersion, bi.Main.Version)
	for _, s := range bi.Settings {
		switch s.Key {
		case "vcs.revision", "vcs.modified", "GOAMD64", "GOARM64", "-race", "-tags":
			fmt.Fprintf(&b, " %s=%s", s.Key, s.Value)
		}
	}
	return b.String()
}

// cpuText lists the features wazero's compiler looks at, and a few more: too
// many only cost a compilation.
func cpuText() string {
	return fmt.Sprint(cpu.X86.HasSSE41, cpu.X86.HasBMI1, cpu.X86.HasBMI2, cpu.X86.HasPOPCNT,
		cpu.X86.HasAVX2, cpu.ARM64.HasATOMICS)
}
