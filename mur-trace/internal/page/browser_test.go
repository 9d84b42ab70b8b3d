package page

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/trace/tracegen"

	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

var shots = flag.String("shots", "", "write screenshots of the page into this directory")

// browser is a headless Chromium spoken to over its debugging pipe.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	next    int
	session string
}

func openBrowser(t *testing.T, url string) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: scripts/install-test-deps.sh installs it")
	}
	profile := t.TempDir()
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--remote-debugging-pipe", "--window-size=1280,800", "--user-data-dir="+profile)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	toRead, toWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromRead, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	limit := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		limit.Stop()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		// Its other processes write into the profile until they have ended too.
		if !murtest.Within(10*time.Second, func() bool { return len(murtest.Processes(t, profile)) == 0 }) {
			t.Errorf("chromium goes on: %q", murtest.Processes(t, profile))
		}
		toWrite.Close()
		fromRead.Close()
	})
	b := &browser{t: t, in: toWrite, out: bufio.NewReaderSize(fromRead, 1<<20)}
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Page.enable", nil, nil)
	b.call("Runtime.enable", nil, nil)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.wait(`document.documentElement?.dataset.ready === "1"`)
	return b
}

// call sends one command and waits for its answer.
func (b *browser) call(method string, params any, result any) {
	b.t.Helper()
	b.next++
	msg := map[string]any{"id": b.next, "method": method}
	if params != nil {
		msg["params"] = params
	}
	if b.session != "" {
		msg["sessionId"] = b.session
	}
	text, err := json.Marshal(msg)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		text, err := b.out.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: chromium is gone: %v", method, err)
		}
		var got struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &got); err != nil {
			b.t.Fatal(err)
		}
		if got.Method == "Runtime.exceptionThrown" {
			b.t.Fatalf("the page's script failed: %s", got.Params)
		}
		if got.ID != b.next {
			continue
		}
		if got.Error != nil {
			b.t.Fatalf("%s: %s", method, got.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(got.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// eval evaluates an expression in the page.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Text string }
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, got.ExceptionDetails.Text)
	}
	return got.Result.Value
}

func (b *browser) want(expression string, want any) {
	b.t.Helper()
	if got := b.eval(expression); got != want {
		b.t.Errorf("%s is %v, want %v", expression, got, want)
	}
}

func (b *browser) wait(condition string) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if b.eval(condition) == true {
			return
		}
	}
	b.t.Fatalf("never: %s", condition)
}

func (b *browser) key(name, text string) {
	b.t.Helper()
	code := map[string]int{"ArrowDown": 40, "ArrowUp": 38, "Home": 36, "End": 35, "PageDown": 34, "Enter": 13, "Escape": 27, "Tab": 9}[name]
	down := map[string]any{"type": "keyDown", "key": name, "windowsVirtualKeyCode": code}
	if text != "" {
		down["text"] = text
	}
	b.call("Input.dispatchKeyEvent", down, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "windowsVirtualKeyCode": code}, nil)
}

func (b *browser) shot(name string) {
	b.t.Helper()
	var got struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &got)
	png, err := base64.StdEncoding.DecodeString(got.Data)
	if err != nil || len(png) < 10000 {
		b.t.Fatalf("a screenshot of %d bytes: %v", len(png), err)
	}
	if *shots != "" {
		if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// longSession is a session of 2,000 calls, with the things a page must show and
// one that must do nothing.
func longSession() string {
	var s strings.Builder
	s.WriteString("capture content\nsession_start {\"capsule_name\":\"repo-report\",\"tools_declared\":[\"read_file\",\"bash\",\"write_file\"]}\ntask_start\n")
	at := 0
	for n := range 2000 {
		if n%4 == 0 {
			at += 900 + n%7*130
			fmt.Fprintf(&s, "at %d\ninference {\"turn\":%d,\"task_id\":\"tsk_1\",\"decision\":\"tool_call\",\"tool_name\":\"read_file\",\"input_tokens\":%d,\"output_tokens\":%d}\n",
				at, n/4, 1200+n*7%9000, 80+n*13%700)
		}
		took := 4 + n*37%260
		at += took
		status := "ok"
		if n%90 == 17 {
			status = "error"
		}
		fmt.Fprintf(&s, "at %d\n", at)
		switch n % 5 {
		case 3:
			fmt.Fprintf(&s, "tool_call {\"turn\":%d,\"task_id\":\"tsk_1\",\"tool_name\":\"bash\",\"status\":%q,\"duration_ms\":%d,\"input\":{\"command\":\"go test ./pkg%d/...\"},\"output\":\"ok  \\tpkg%d\\t0.0%ds\"}\n", n/4, status, took, n%40, n%40, n%10)
			fmt.Fprintf(&s, "shell {\"turn\":%d,\"task_id\":\"tsk_1\",\"binary\":\"/usr/bin/bash\",\"command\":\"go test ./pkg%d/...\",\"duration_ms\":%d,\"exit_code\":%d}\n", n/4, n%40, took, n%90/89)
		default:
			fmt.Fprintf(&s, "tool_call {\"turn\":%d,\"task_id\":\"tsk_1\",\"tool_name\":\"read_file\",\"status\":%q,\"duration_ms\":%d,\"input\":{\"path\":\"src/pkg%d/file%d.go\"},\"output\":\"package pkg%d\\n\\nfunc F%d() error { return nil }\\n\"}\n", n/4, status, took, n%40, n%23, n%40, n)
		}
		if n%400 == 250 {
			fmt.Fprintf(&s, "call_denied {\"turn\":%d,\"hook_name\":\"guard\",\"target\":\"/usr/bin/curl\",\"reason\":\"curl is not in the list of this task\"}\n", n/4)
		}
	}
	s.WriteString(`tool_call {"turn":499,"task_id":"tsk_1","tool_name":"evil","input":{"path":"</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">","n":12345678901234567890},"output":"<!-- <script> needle-in-the-output"}` + "\n")
	s.WriteString("inference {\"turn\":500,\"task_id\":\"tsk_1\",\"decision\":\"end_turn\"}\ntask_end\nsession_end\n")
	return s.String()
}

// TRC-205: the page of a session of 2,000 calls in a real browser: it opens and
// filters without delay, answers to the keyboard, shows inputs and outputs,
// does nothing a trace tells it, and has a dark and a light form.
func TestPageInABrowser(t *testing.T) {
	dir := t.TempDir()
	if _, err := tracegen.Script(dir, longSession()); err != nil {
		t.Fatal(err)
	}
	r, err := record.Load(source.Trace{Path: filepath.Join(dir, "trace.jsonl"), RecordsDir: dir}, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var page bytes.Buffer
	if err := Write(&page, r); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "page.html")
	if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t, "file://"+path)

	// It opens: every event is in the list, few rows are in the document.
	b.want(`document.getElementById("found").textContent`, "2,911 of 2,911")
	if rows := b.eval(`document.querySelectorAll(".row").length`).(float64); rows < 10 || rows > 100 {
		t.Errorf("%v rows are in the document", rows)
	}
	b.want(`document.activeElement.id`, "list")
	b.want(`document.querySelector("h1").textContent`, "repo-report 1.0.0")
	b.want(`document.title.includes("owned")`, false)
	if ms := b.eval(`performance.timing.loadEventEnd - performance.timing.responseEnd`).(float64); ms > 5000 {
		t.Errorf("it took %v ms to open", ms)
	}

	// The keyboard: choose, jump to failures and ends, search, come back.
	b.key("ArrowDown", "")
	b.key("j", "j")
	b.want(`document.querySelector(".row.sel .what").textContent`, "0: tool_call read_file")
	b.want(`document.getElementById("list").getAttribute("aria-activedescendant")`, "row-2")
	b.key("n", "n")
	b.want(`document.querySelector(".row.sel").classList.contains("fail")`, true)
	b.key("End", "")
	b.want(`document.querySelector(".row.sel .what").textContent`, "ok")
	b.key("Home", "")
	b.want(`document.querySelector(".row.sel .kind").textContent`, "session start")
	b.key("/", "/")
	b.want(`document.activeElement.id`, "search")
	b.call("Input.insertText", map[string]any{"text": "needle-in-the-output"}, nil)
	b.want(`document.getElementById("found").textContent`, "1 of 2,911")
	b.key("Enter", "\r")
	b.want(`document.querySelector("pre[data-part=output]").textContent`, "<!-- <script> needle-in-the-output")
	if in := b.eval(`document.querySelector("pre[data-part=input]").textContent`).(string); !strings.Contains(in, "</script><script>document.title='owned'") {
		t.Errorf("the input is shown as %q", in)
	}
	b.want(`document.querySelector("pre[data-part=input]").textContent.includes('"n": 12345678901234567890')`, true)
	b.want(`document.title.includes("owned")`, false)
	b.want(`[...document.querySelectorAll(".chain button")].map(b => b.textContent.split("  ")[0]).join(">")`, "session start>task start>turn>tool call")
	b.key("Enter", "\r")
	b.want(`document.activeElement.id`, "detail")
	b.key("Escape", "")
	b.want(`document.activeElement.id`, "list")
	b.key("/", "/")
	b.key("Escape", "")
	b.want(`document.getElementById("found").textContent`, "2,911 of 2,911")

	// Filtering takes no noticeable time.
	quickest := 1e9 // of several: the host may be busy
	for _, words := range []string{"pkg7 file3", "bash pkg1", "read_file", "evil", "curl task"} {
		took := b.eval(fmt.Sprintf(`(() => { const s = document.getElementById("search"); s.value = %q; const t = performance.now(); s.dispatchEvent(new Event("input")); return performance.now() - t; })()`, words)).(float64)
		quickest = min(quickest, took)
	}
	if quickest > 100 {
		t.Errorf("a search takes %v ms", quickest)
	}
	b.eval(`(() => { const s = document.getElementById("search"); s.value = ""; s.dispatchEvent(new Event("input")); })()`)
	b.eval(`document.getElementById("bad").click()`)
	b.want(`document.getElementById("found").textContent.split(" ")[0] < 60`, true)
	b.want(`[...document.querySelectorAll(".row:not([hidden])")].every(r => r.classList.contains("fail"))`, true)
	b.eval(`document.querySelector("input[data-kind=call]").click(); document.querySelector("input[data-kind=shell]").click()`)
	b.want(`document.getElementById("found").textContent`, "5 of 2,911")
	b.eval(`document.getElementById("list").focus()`)
	b.key("Home", "")
	b.want(`document.querySelector("pre[data-part=reason]").textContent`, "curl is not in the list of this task")
	b.eval(`for (const c of document.querySelectorAll("input[type=checkbox]")) if (c.checked !== (c.id !== "bad")) c.click()`)

	// The mouse: a row, the timeline, a turn's tokens.
	b.eval(`document.querySelectorAll(".row")[3].click()`)
	b.want(`document.querySelector("#detail h2").textContent.startsWith("tool call")`, true)
	b.eval(`document.getElementById("time").dispatchEvent(new MouseEvent("click", {clientX: document.getElementById("time").getBoundingClientRect().right - 1, clientY: 140, bubbles: true}))`)
	b.want(`document.querySelectorAll(".row.sel").length`, float64(1))

	// Light and dark, by the system's wish and by the button; text stays readable.
	contrast := `(() => { const lum = c => { const v = c.match(/\d+/g).slice(0,3).map(x => { x /= 255; return x <= .03928 ? x/12.92 : ((x+.055)/1.055)**2.4; }); return .2126*v[0]+.7152*v[1]+.0722*v[2]; };
		const bg = lum(getComputedStyle(document.body).backgroundColor);
		return Math.min(...[document.body, document.querySelector(".facts dt"), document.querySelector(".row .kind"), document.querySelector(".pill")].map(n => { const f = lum(getComputedStyle(n).color); return (Math.max(f,bg)+.05)/(Math.min(f,bg)+.05); })); })()`
	backgrounds := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		b.eval(`document.querySelectorAll(".row:not([hidden])")[6].click()`)
		backgrounds[b.eval(`getComputedStyle(document.body).backgroundColor`).(string)] = true
		if c := b.eval(contrast).(float64); c < 4.5 {
			t.Errorf("%s: a contrast of %.1f", scheme, c)
		}
		b.shot("trace-page-" + scheme)
	}
	if len(backgrounds) != 2 {
		t.Errorf("dark and light are the same: %v", backgrounds)
	}
	b.eval(`document.getElementById("theme").click()`)
	b.want(`document.documentElement.dataset.theme`, "light")

	// A narrow window.
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 420, "height": 800, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.wait(`document.documentElement.scrollWidth <= 420`)
	b.shot("trace-page-narrow")
}

// The page loads nothing and carries its data unbroken.
func TestPageIsSelfContained(t *testing.T) {
	dir := t.TempDir()
	if _, err := tracegen.Script(dir, longSession()); err != nil {
		t.Fatal(err)
	}
	r, err := record.Load(source.Trace{Path: filepath.Join(dir, "trace.jsonl")}, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var page bytes.Buffer
	if err := Write(&page, r); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, bad := range []string{"http://", "https://", "src=\"", "@import", "url(", "ZgotmplZ", "@@DATA@@"} {
		head, rest, _ := strings.Cut(text, `id="data">`)
		_, tail, _ := strings.Cut(rest, "</script>")
		if strings.Contains(head+tail, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	_, rest, _ := strings.Cut(text, `id="data">`)
	raw, _, _ := strings.Cut(rest, "</script>")
	var doc struct {
		Events []map[string]any `json:"events"`
	}
	if err := json.Unmarshal([]byte(raw), &doc); err != nil || len(doc.Events) != 2911 {
		t.Fatalf("%d events, %v", len(doc.Events), err)
	}
	if err := Write(failing{}, r); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a failed write is %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }
