package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/policy"
)

// toolchain is a use of ordinary tools that must work inside with the programs it
// names and nothing else.
type toolchain struct {
	name  string
	needs []string // programs of the host; the first is reported when missing
	allow []string
	flags []string
	files map[string]string
	words []string
	want  string // in the output
	// runnable: what was built runs on the host afterwards.
	runnable string
	slow     bool // once, at scoped as the caller, for its cost
}

const (
	goPath  = "/usr/local/go/bin"
	cSource = "#include <stdio.h>\nint main(void) { puts(\"hello from c\"); return 0; }\n"
)

func toolchains(server *httptest.Server, ca string) []toolchain {
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	url := "https://localhost:" + port + "/"
	reach := []string{"--network", "localhost:" + port}
	return []toolchain{
		{name: "git", needs: []string{"git"}, allow: []string{"sh", "git"}, words: []string{"sh", "-c", `set -e
git init -q repo && cd repo
git config user.email a@example.com && git config user.name a
echo one > f && git add f && git commit -qm "first line"
git clone -q . ../clone && git worktree add -q ../tree
git -C ../tree log --oneline && git status --short && git -C ../clone log --oneline`}, want: "first line"},
		{name: "python", needs: []string{"python3"}, allow: []string{"python3", "true"}, words: []string{"python3", "-c", `import ssl, multiprocessing, subprocess, sqlite3, tempfile
ssl.create_default_context()
s = multiprocessing.Semaphore(2); s.acquire()
q = multiprocessing.Queue(); p = multiprocessing.Process(target=q.put, args=(5,)); p.start(); assert q.get() == 5; p.join()
assert multiprocessing.Pool(2).map(abs, [-1, 2]) == [1, 2]
assert subprocess.run(["true"]).returncode == 0
tempfile.TemporaryFile().write(b"x")
print("python is well")`}, want: "python is well"},
		{name: "node", needs: []string{"node"}, allow: []string{"node", "sh"}, flags: append([]string{"--env", "NODE_EXTRA_CA_CERTS", "--limit", "memory_bytes=34359738368"}, reach...), files: map[string]string{"ca.pem": ca}, words: []string{"node", "-e", `
const r = require("child_process").spawnSync("sh", ["-c", "echo spawned"]);
if (String(r.stdout) !== "spawned\n") throw new Error(String(r.error));
fetch("` + url + `").then(r => r.text()).then(t => console.log("fetched " + t));`}, want: "fetched served"},
		{name: "gcc", needs: []string{"gcc"}, allow: []string{"gcc"}, files: map[string]string{"x.c": cSource}, words: []string{"gcc", "-O1", "-o", "x", "x.c"}, runnable: "x"},
		{name: "make", needs: []string{"make", "cc"}, allow: []string{"make", "sh", "cc"}, files: map[string]string{"x.c": cSource, "Makefile": "x: x.o\n\tcc -o x x.o\nx.o: x.c\n\tcc -c x.c\n"}, words: []string{"make"}, runnable: "x"},
		{name: "curl", needs: []string{"curl"}, allow: []string{"curl"}, flags: reach, files: map[string]string{"ca.pem": ca}, words: []string{"curl", "-sS", "--cacert", "ca.pem", url}, want: "served"},
		{name: "go", needs: []string{"go"}, allow: []string{"go"}, files: map[string]string{"go.mod": "module m\n\ngo 1.20\n", "main.go": "package main\n\nfunc main() { println(\"hello from go\") }\n"},
			words: []string{"go", "build", "-o", "x", "."}, runnable: "x", slow: true},
		{name: "pipeline", needs: []string{"sh"}, allow: []string{"sh", "printf", "sort", "uniq", "wc", "sed", "grep", "find"}, words: []string{"sh", "-c", `printf 'b\na\nb\n' | sort | uniq | wc -l; find . -name x | sed s/x/y/ | grep -c . || true`}, want: "2\n"},
	}
}

// Ordinary tools work inside at scoped and sealed, with their caches in the
// session's home and no grant but their names. CON-96's filter, CON-P96, CON-112, CON-288
func TestToolchains(t *testing.T) {
	server, ca := served(t)
	for _, tc := range toolchains(server, ca) {
		for user, cred := range users() {
			for _, class := range []policy.Class{policy.Scoped, policy.Sealed} {
				t.Run(fmt.Sprintf("%s/%s/%s", tc.name, user, class), func(t *testing.T) {
					if tc.slow && (class != policy.Scoped || cred != nil) && testing.Short() {
						t.Skip("builds the standard library: not with -short")
					}
					if tc.slow && cred != nil {
						t.Skip("once as the caller: it builds the standard library")
					}
					needs(t, class)
					tc.run(t, class, cred)
				})
			}
		}
	}
}

// What a compiler made runs inside only with workdir_exec, at advisory. CON-P57
func TestRunWhatWasBuilt(t *testing.T) {
	needs(t, policy.Advisory)
	for user, cred := range users() {
		t.Run(user, func(t *testing.T) {
			tc := toolchain{needs: []string{"gcc"}, allow: []string{"gcc", "sh"}, flags: []string{"--workdir-exec"}, files: map[string]string{"x.c": cSource},
				words: []string{"sh", "-c", "gcc -o x x.c && ./x"}, want: "hello from c"}
			tc.run(t, policy.Advisory, cred)
		})
	}
}

func (tc toolchain) run(t *testing.T, class policy.Class, cred *syscall.Credential) {
	t.Helper()
	shell, _ := built(t)
	path := "/usr/bin:/bin:" + goPath
	for _, p := range tc.needs {
		found := false
		for _, d := range filepath.SplitList(path) {
			if _, err := os.Stat(filepath.Join(d, p)); err == nil {
				found = true
			}
		}
		if !found {
			t.Skipf("no program %s on %s", p, path)
		}
	}
	base, work := workshop(t, cred)
	for name, text := range tc.files {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"run", "--containment", class.String()}
	for _, a := range tc.allow {
		args = append(args, "--allow", a)
	}
	args = append(append(args, tc.flags...), "--")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, append(args, tc.words...)...)
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + path, "HOME=" + base, "MURMUR_HOME=" + filepath.Join(base, "home"), "NODE_EXTRA_CA_CERTS=" + filepath.Join(work, "ca.pem")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	if !strings.Contains(stdout.String(), tc.want) {
		t.Errorf("printed %q, want %q in it\n%s", stdout.String(), tc.want, stderr.String())
	}
	if tc.runnable != "" {
		if out, err := exec.Command(filepath.Join(work, tc.runnable)).CombinedOutput(); err != nil || !strings.Contains(string(out), "hello from") {
			t.Errorf("what was built says %q: %v", out, err)
		}
	}
	for _, d := range []string{"home/records/standalone"} {
		left, _ := os.ReadDir(filepath.Join(base, d))
		if len(left) > 0 {
			t.Errorf("%s holds %v", d, left)
		}
	}
}

// workshop is a work folder beside a murmur home, both the user's.
func workshop(t testing.TB, cred *syscall.Credential) (base, work string) {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "mur-tools-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	work = filepath.Join(base, "work")
	for _, d := range []string{work, filepath.Join(base, "home")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{base, work, filepath.Join(base, "home")} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if cred != nil {
			if err := os.Chown(d, int(cred.Uid), int(cred.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return base, work
}

// served is an HTTPS server on loopback with a certificate for localhost, and
// that certificate.
func served(t *testing.T) (*httptest.Server, string) {
	t.Helper()
	cert, ca, err := certificate()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "served") }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, ca
}
