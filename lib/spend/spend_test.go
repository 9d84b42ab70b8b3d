package spend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/workfs"
)

// TestMain lets the test program play another launch: see play.
func TestMain(m *testing.M) {
	if home := os.Getenv("SPEND_TEST_HOME"); home != "" {
		play(home)
		return
	}
	os.Exit(m.Run())
}

func home(t testing.TB, dir string) workfs.Home {
	h, err := workfs.FindHome([]string{"MURMUR_HOME=" + dir})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func opened(t testing.TB, dir string, a Account, now func() time.Time) *Ledger {
	t.Helper()
	l, err := Open(home(t, dir), a, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func num(n int64) *int64 { return &n }

func quiet(t testing.TB) func(error) { return func(err error) { t.Errorf("warned: %v", err) } }

func refusal(err error) *Refusal {
	var r *Refusal
	_ = errors.As(err, &r)
	return r
}

// AGT-150, AGT-152, AGT-156, AGT-199
func TestSessionCeiling(t *testing.T) {
	ctx := context.Background()
	m := NewMeter(num(100), nil, quiet(t))
	a, err := m.Admit(ctx, 30, 40)
	if err != nil {
		t.Fatal(err)
	}
	if r := refusal(second(m.Admit(ctx, 20, 11))); r == nil || *r != (Refusal{Session, 100, 70, 31}) {
		t.Fatalf("refused %+v", r)
	}
	a.Settle(30, 5)
	if r := refusal(second(m.Admit(ctx, 1, 0))); r == nil || *r != (Refusal{Session, 100, 70, 31}) {
		t.Errorf("the refusal did not latch: %+v", r)
	}
	if m.Used() != 35 {
		t.Errorf("used %d", m.Used())
	}
	m = NewMeter(num(100), nil, quiet(t))
	a, _ = m.Admit(ctx, 30, 70)
	a.Release(30)
	if m.Used() != 30 {
		t.Errorf("a released admission was charged %d", m.Used())
	}
	if _, err := m.Admit(ctx, 30, 40); err != nil {
		t.Error(err)
	}
	free := NewMeter(nil, nil, quiet(t))
	if _, err := free.Admit(ctx, 1<<40, 1<<40); err != nil {
		t.Error(err)
	}
}

func second(_ *Admission, err error) error { return err }

// AGT-151, DEL-1802, DEL-1803, DEL-1806, DEL-1807
func TestLedgerIsShared(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "home")
	one := NewMeter(nil, opened(t, dir, Account{Session: "ses_1", Machine: num(100)}, time.Now), quiet(t))
	two := NewMeter(nil, opened(t, dir, Account{Session: "ses_2", Parent: "ses_1", Root: "ses_1", Machine: num(100), Tree: num(90)}, time.Now), quiet(t))
	a, err := one.Admit(ctx, 20, 40)
	if err != nil {
		t.Fatal(err)
	}
	if r := refusal(second(two.Admit(ctx, 20, 21))); r == nil || *r != (Refusal{Machine, 100, 60, 41}) {
		t.Fatalf("refused %+v", r)
	}
	if r := refusal(second(two.Admit(ctx, 20, 11))); r == nil || *r != (Refusal{Tree, 90, 60, 31}) {
		t.Fatalf("refused %+v", r)
	}
	a.Settle(20, 3)
	// What was refused is asked again, and does not latch.
	if _, err := two.Admit(ctx, 20, 21); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, Dir, "*"+suffix))
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	text, _ := os.ReadFile(files[0])
	if n := strings.Count(string(text), "\n"); n != 3 || !strings.Contains(string(text), `"session_id":"ses_2","input_tokens":20,"output_tokens":21,"call":1,"admitted":true,"parent_session_id":"ses_1","root_session_id":"ses_1"}`) {
		t.Errorf("ledger:\n%s", text)
	}
	for path, mode := range map[string]os.FileMode{filepath.Join(dir, Dir): 0o700, files[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

// DEL-1803: a new day begins at nothing, and what was admitted the day before is
// settled there. Old files go.
func TestDays(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "home")
	now := time.Date(2026, 3, 1, 23, 59, 59, 0, time.UTC)
	l := opened(t, dir, Account{Session: "ses_1", Machine: num(100)}, func() time.Time { return now })
	m := NewMeter(nil, l, quiet(t))
	a, err := m.Admit(ctx, 50, 50)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Second)
	b, err := m.Admit(ctx, 50, 50)
	if err != nil {
		t.Fatal(err)
	}
	a.Settle(50, 1)
	b.Settle(50, 2)
	for day, want := range map[string]string{"2026-03-01": `"output_tokens":1,`, "2026-03-02": `"output_tokens":2,`} {
		text, err := os.ReadFile(filepath.Join(dir, Dir, day+suffix))
		if err != nil || strings.Count(string(text), "\n") != 2 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v\n%s", day, err, text)
		}
	}
	now = now.AddDate(0, 0, 31)
	opened(t, dir, Account{Session: "ses_2"}, func() time.Time { return now })
	left, _ := filepath.Glob(filepath.Join(dir, Dir, "*"+suffix))
	if len(left) != 1 || filepath.Base(left[0]) != "2026-04-02"+suffix {
		t.Errorf("left %q", left)
	}
}

// DEL-1803: other people's lines and torn ones neither count nor hide a line.
func TestTornAndForeignLines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	l := opened(t, dir, Account{Session: "ses_1", Machine: num(1000)}, time.Now)
	file := filepath.Join(dir, Dir, time.Now().UTC().Format(time.DateOnly)+suffix)
	text := `{"ts":1,"session_id":"ses_x","input_tokens":10,"output_tokens":5}` + "\nnonsense\n[]\n" + `{"ts":1,"session_id":"ses_y","input_tok`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, r, err := l.reserve(context.Background(), 1, 100, 1); r != nil || err != nil {
		t.Fatal(r, err)
	}
	again := opened(t, dir, Account{Session: "ses_2", Machine: num(1000)}, time.Now)
	if again.sums.machine != 116 {
		t.Errorf("counted %d", again.sums.machine)
	}
}

// DEL-1805, AGT-155
func TestLedgerThatCanNotBeUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.MkdirAll(filepath.Join(dir, Dir, time.Now().UTC().Format(time.DateOnly)+suffix), 0o700); err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o700)
	if _, err := Open(home(t, dir), Account{Session: "ses_1"}, time.Now); err == nil {
		t.Fatal("a directory in the place of the file was taken")
	}
	dir = filepath.Join(t.TempDir(), "home")
	l := opened(t, dir, Account{Session: "ses_1", Machine: num(100)}, time.Now)
	warned := 0
	m := NewMeter(nil, l, func(error) { warned++ })
	a, err := m.Admit(context.Background(), 60, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, Dir)); err != nil {
		t.Fatal(err)
	}
	a.Settle(60, 0)
	if _, err := m.Admit(context.Background(), 10, 0); err != nil || warned == 0 {
		t.Errorf("refused %v, warned %d times", err, warned)
	}
	if r := refusal(second(m.Admit(context.Background(), 50, 0))); r == nil || r.Used != 70 {
		t.Errorf("the last total was forgotten: %+v", r)
	}
}

// play is another launch: it takes admissions until it is refused and prints
// what it was admitted; "hold" keeps one open until it is killed.
func play(dir string) {
	h, err := workfs.FindHome([]string{"MURMUR_HOME=" + dir})
	check(err)
	ceiling, err := strconv.ParseInt(os.Getenv("SPEND_TEST_CEILING"), 10, 64)
	check(err)
	l, err := Open(h, Account{Session: "ses_" + strconv.Itoa(os.Getpid()), Machine: &ceiling}, time.Now)
	check(err)
	m := NewMeter(nil, l, check)
	if os.Getenv("SPEND_TEST_HOLD") != "" {
		_, err := m.Admit(context.Background(), 40, 20)
		check(err)
		fmt.Println("held")
		select {}
	}
	for {
		a, err := m.Admit(context.Background(), 3, 4)
		if refusal(err) != nil {
			return
		}
		check(err)
		fmt.Println(7)
		a.Settle(3, 4)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func player(dir string, ceiling int64, extra ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(extra, "SPEND_TEST_HOME="+dir, fmt.Sprintf("SPEND_TEST_CEILING=%d", ceiling))...)
	cmd.Stderr = os.Stderr
	return cmd
}

// DEL-1804: launches at once use the day up to its ceiling and never beyond.
func TestProcessesNeverExceedTheCeiling(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	const ceiling = 1000
	var mu sync.Mutex
	total := 0
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			out, err := player(dir, ceiling).Output()
			if err != nil {
				t.Errorf("a launch: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += 7 * strings.Count(string(out), "\n")
		})
	}
	wg.Wait()
	if total > ceiling || total < ceiling-6 {
		t.Errorf("%d tokens of %d were admitted", total, ceiling)
	}
}

// DEL-1804: what was admitted to a process that was killed stays counted.
func TestKilledLaunchLosesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	cmd := player(dir, 100, "SPEND_TEST_HOLD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	m := NewMeter(nil, opened(t, dir, Account{Session: "ses_2", Machine: num(100)}, time.Now), quiet(t))
	if r := refusal(second(m.Admit(context.Background(), 41, 0))); r == nil || r.Used != 60 {
		t.Errorf("the killed launch's admission is gone: %+v", r)
	}
	if _, err := m.Admit(context.Background(), 40, 0); err != nil {
		t.Error(err)
	}
}
