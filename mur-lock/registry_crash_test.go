package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mur-capsules/mur/lib/murtest/registry"
)

// fromRegistry is a world whose project declares two artifacts that only a
// registry has.
func fromRegistry(t *testing.T) (*world, *registry.Registry) {
	if why := registry.Missing(); why != "" {
		t.Skip(why)
	}
	r, err := registry.Start(t.TempDir(), registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	w := newWorld(t, crashable(t))
	w.write("project/murmur.yaml", "name: p\nversion: 0.1.0\nartifacts:\n"+
		"  - {name: ana/a, version: 1.0.0, runtime: skill}\n  - {name: ana/b, version: 1.0.0, runtime: skill}\n")
	w.source(r.Host)
	for _, name := range []string{"a", "b"} {
		w.run("pack", "../"+name, "-o", "../"+name+".mur.zip")
		w.run("publish", "--registry", "oci://"+r.Host+"/ana", "../"+name+".mur.zip")
	}
	return w, r
}

// source names a registry in the project's configuration.
func (w *world) source(host string) {
	w.write("project/.murmur/config.yaml", "registry:\n  sources:\n    - {name: team, type: oci, repo: "+host+"/ana}\n")
}

// ART-53, ART-90, ART-182: killed before any change of the file system, an install
// from a registry leaves nothing half-written, and succeeds when repeated.
func TestInstallFromRegistryKilledAtEveryStep(t *testing.T) {
	prepared, _ := fromRegistry(t)
	steps := 0
	for at := 1; ; at++ {
		w := prepared.copy()
		if !w.crash(at, "install", "--no-precompile") {
			break
		}
		steps++
		for _, e := range w.lock().Entries {
			w.whole(e.Name.String())
		}
		w.run("install")
		w.run("verify")
		w.clean()
		if t.Failed() {
			t.Fatalf("killed before change %d", at)
		}
	}
	if steps < 10 {
		t.Errorf("only %d steps: the build does not kill itself", steps)
	}
}

// whole fails when what the project store holds of a pinned name is not there or
// not sound.
func (w *world) whole(full string) {
	w.t.Helper()
	out, err := w.command(-1, "list", "--json").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"name":"`+full+`"`) {
		w.t.Fatalf("%s is pinned and not whole: %v\n%s", full, err, out)
	}
}

// ART-66: kill -9 in the middle of a download leaves nothing, and the next run
// fetches all of it.
func TestInstallKilledInADownload(t *testing.T) {
	w, r := fromRegistry(t)
	half := make(chan struct{})
	stuck := make(chan struct{})
	target, _ := url.Parse("http://" + r.Host)
	through := httputil.NewSingleHostReverseProxy(target)
	var once sync.Once
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if !strings.Contains(req.URL.Path, "/blobs/") {
			through.ServeHTTP(rw, req)
			return
		}
		resp, err := http.Get(target.String() + req.URL.Path)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		rw.Header().Set("Content-Length", fmt.Sprint(len(data)))
		rw.Write(data[:len(data)/2])
		rw.(http.Flusher).Flush()
		once.Do(func() { close(half) })
		<-stuck
	}))
	defer proxy.Close()
	defer close(stuck)
	w.source(strings.TrimPrefix(proxy.URL, "http://"))
	cmd := w.command(-1, "install")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-half
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := os.Stat(w.dir + "/project/murmur.lock"); err == nil {
		t.Error("something was pinned")
	}
	if left, _ := os.ReadDir(w.dir + "/project/.murmur"); len(left) != 1 {
		t.Errorf("something was stored: %v", left)
	}
	w.source(r.Host)
	w.run("install")
	w.run("verify")
	w.clean()
}

// ART-91, ART-182: eight installs at once from a registry into an empty store;
// every one succeeds, and the lock is that of one.
func TestEightInstallsFromARegistry(t *testing.T) {
	w, _ := fromRegistry(t)
	alone := w.copy()
	alone.run("install")
	want, err := os.ReadFile(alone.dir + "/project/murmur.lock")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if out, err := w.command(-1, "install").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	w.run("verify")
	w.clean()
	if got, _ := os.ReadFile(w.dir + "/project/murmur.lock"); string(got) != string(want) {
		t.Errorf("the lock is\n%s\nwant\n%s", got, want)
	}
}
