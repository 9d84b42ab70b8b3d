package app_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// why's answers and what a command finds inside agree, over random policies: both
// come from one plan. CON-36, CON-54, CON-63, CON-89, CON-215, CON-216, SHL-154
func TestExplanationsAgreeWithWhatIsEnforced(t *testing.T) {
	needs(t, "scoped")
	if _, err := os.Stat("/usr/bin/bash"); err != nil {
		t.Skip("bash is not installed")
	}
	p := newPlace(t)
	var dirs []string
	for i := range 5 {
		d := filepath.Join(p.base, fmt.Sprintf("dir%d", i))
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		p.write(t, filepath.Join(d, "f"), "x\n")
		data, err := os.ReadFile("/usr/bin/true")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "run"), data, 0o755); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, d)
	}
	dirs = append(dirs, p.work)
	p.write(t, filepath.Join(p.work, "f"), "x\n")
	var ports []string
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprintln(c, "hello")
				c.Close()
			}
		}()
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	programs := []string{"cat", "id", "env", "wc"}

	// The line asks about everything and prints one word for each.
	var line strings.Builder
	var subjects []string
	ask := func(subject, test string) {
		subjects = append(subjects, subject)
		fmt.Fprintf(&line, "if %s; then echo yes; else echo no; fi 2>/dev/null\n", test)
	}
	for _, d := range dirs {
		ask("path:"+d+"/f", fmt.Sprintf("read -r x < %s/f", d))
		ask("path:"+d+"/f", fmt.Sprintf("echo x >> %s/f", d))
		ask("path:"+d+"/run", fmt.Sprintf("%s/run", d))
	}
	for _, name := range programs {
		ask("program:"+name, "/usr/bin/"+name+" --version >/dev/null")
	}
	for _, port := range ports {
		ask("host:127.0.0.1:"+port, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%s && read -r -t 5 x <&3", port))
	}

	rnd := rand.New(rand.NewPCG(1, 2))
	config := filepath.Join(p.home, ".murmur", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	policies := 200
	if testing.Short() {
		policies = 20
	}
	for n := range policies {
		allow, hostPaths, network := []string{"bash"}, []string{}, []string{}
		var runtime []map[string]any
		for _, name := range programs {
			if rnd.IntN(2) == 0 {
				allow = append(allow, name)
			}
		}
		for _, d := range dirs[:5] {
			switch rnd.IntN(4) {
			case 0:
				hostPaths = append(hostPaths, d)
			case 1:
				runtime = append(runtime, map[string]any{"binary": "bash", "dirs": []any{map[string]any{"path": d, "list_dir": rnd.IntN(2) == 0}}})
			}
		}
		for _, port := range ports {
			if rnd.IntN(2) == 0 {
				network = append(network, "127.0.0.1:"+port)
			}
		}
		shell := map[string]any{"allow": allow}
		if runtime != nil {
			shell["interpreter_runtime"] = runtime
		}
		text, err := json.Marshal(map[string]any{"shell": shell, "network": map[string]any{"allow": network}})
		if err != nil {
			t.Fatal(err)
		}
		p.write(t, filepath.Join(p.base, "policy.json"), string(text))
		if text, err = json.Marshal(map[string]any{"host_paths": hostPaths}); err != nil {
			t.Fatal(err)
		}
		p.write(t, config, string(text))
		class := "scoped"
		if n%5 == 0 && reading().SealedBlocker == nil {
			class = "sealed"
		}
		args := []string{"--containment", class, "--policy", filepath.Join(p.base, "policy.json"), "--"}
		told := p.run(t, append(append([]string{"why", "--json"}, args...), subjects...)...)
		var answers []struct {
			Subject, Rights, Rule string
			Allowed               bool
		}
		if err := json.Unmarshal([]byte(told.stdout), &answers); err != nil || len(answers) != len(subjects) {
			t.Fatalf("%v: %q %q", err, told.stdout, told.stderr)
		}
		o := p.run(t, append(append([]string{"run"}, args...), "bash", "-c", line.String())...)
		found := strings.Fields(o.stdout)
		if len(found) != len(subjects) {
			t.Fatalf("%d answers: %q %q", len(found), o.stdout, o.stderr)
		}
		for i, a := range answers {
			want := a.Allowed
			if strings.HasPrefix(subjects[i], "path:") {
				can := [][]string{{"read", "execute", "write"}, {"write"}, {"execute"}}[i%3]
				want = slices.Contains(can, a.Rights)
			}
			if (found[i] == "yes") != want {
				t.Errorf("policy %d (%s): %s: told %+v, found %s\n%s\nhost_paths %v", n, class, subjects[i], a, found[i], text, hostPaths)
			}
		}
		if t.Failed() {
			return
		}
	}
}
