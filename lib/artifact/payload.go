package artifact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// CapsuleName is the root entry that always wins as the WASM payload (ART-15).
const CapsuleName = "capsule.wasm"

// Components sorts out which of a root's file names is the WASM payload:
// capsule.wasm, else the only *.wasm. hidden are those that never run beside
// capsule.wasm; when nothing is chosen, candidates are the several there are.
// Names with a / are not in the root and do not count (ART-19).
func Components(rootNames []string) (chosen string, hidden, candidates []string) {
	for _, n := range rootNames {
		if strings.HasSuffix(n, ".wasm") && !strings.Contains(n, "/") {
			candidates = append(candidates, n)
		}
	}
	slices.Sort(candidates)
	if slices.Contains(candidates, CapsuleName) {
		hidden = slices.DeleteFunc(slices.Clone(candidates), func(n string) bool { return n == CapsuleName })
		return CapsuleName, hidden, nil
	}
	if len(candidates) == 1 {
		return candidates[0], nil, nil
	}
	return "", nil, candidates
}

// ChooseComponent is Components for an artifact: none or several is E-BLD-003,
// in the same words at pack time and at staging (ART-20).
func ChooseComponent(what string, rootNames []string) (string, error) {
	chosen, _, candidates := Components(rootNames)
	if chosen != "" {
		return chosen, nil
	}
	var e *diag.Error
	if len(candidates) == 0 {
		e = diag.Errorf("E-BLD-003", "%s has no WASM payload: there is no *.wasm file in its root", what).
			Hint("add the component to requires_files, or name it %s", CapsuleName)
	} else {
		e = diag.Errorf("E-BLD-003", "%s has several WASM payloads to choose from: %s", what, strings.Join(candidates, ", ")).
			Hint("name the one that runs %s, or keep only one", CapsuleName)
	}
	return "", e.About(diag.Subject{Kind: diag.Artifact, Name: what}).Name("candidates", strings.Join(candidates, ", "))
}

// Component returns the name of the archive's WASM payload and its bytes. The
// error is E-BLD-003 when it can not be chosen, else as Fault.
func (a *Archive) Component(what string) (name string, wasm []byte, err error) {
	if name, err = ChooseComponent(what, a.rootNames()); err != nil {
		return "", nil, err
	}
	wasm, err = a.Read(name)
	return name, wasm, Fault(what, err)
}

// Skill returns the name of the archive's skill text and the text, whatever the
// case of its name. The error is E-IO-003 (ART-17, ART-112).
func (a *Archive) Skill(what string) (name, text string, err error) {
	found := skillTexts(a.rootNames())
	if len(found) == 0 {
		return "", "", Fault(what, fmt.Errorf("it has no skill.md in its root"))
	}
	text, err = a.Text(found[0])
	return found[0], text, Fault(what, err)
}

// skillTexts returns the root names that are a skill's text.
func skillTexts(names []string) []string {
	var found []string
	for _, n := range names {
		if strings.EqualFold(n, "skill.md") {
			found = append(found, n)
		}
	}
	return found
}

// Native returns the name of the archive's program and its bytes: bin/<name>
// where there is one, else the only file directly in bin/. The error is E-IO-003
// naming the entry expected (ART-16, ART-112).
func (a *Archive) Native(what, name string) (entry string, program []byte, err error) {
	entry = ChooseNative(name, a.Names())
	if entry == "" {
		return "", nil, Fault(what, fmt.Errorf("it has no program: entry bin/%s is expected", name))
	}
	program, err = a.Read(entry)
	return entry, program, Fault(what, err)
}

// ChooseNative picks the program of a native artifact from its file names, or
// "".
func ChooseNative(name string, all []string) string {
	var in []string
	for _, n := range all {
		if rest, ok := strings.CutPrefix(n, "bin/"); ok && !strings.Contains(rest, "/") {
			in = append(in, n)
		}
	}
	switch {
	case slices.Contains(in, "bin/"+name):
		return "bin/" + name
	case len(in) == 1:
		return in[0]
	}
	return ""
}
