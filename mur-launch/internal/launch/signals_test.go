package launch

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
)

// watched is a launch that only waits for signals; exits are what it would have
// ended with.
func watched(t *testing.T) (l *launching, exits chan int) {
	root, err := workfs.OpenRoot(filepath.Join(t.TempDir()), workfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	exits = make(chan int, 1)
	return &launching{
		env: cli.Env{Stderr: &bytes.Buffer{}}, agency: &agency{secrets: &mask.Set{}}, held: &session.Held{Records: root},
		opt: Options{Exit: func(status int) { exits <- status }},
	}, exits
}

// SES-179 to SES-181, SES-188, DIA-30, DIA-31
func TestSecondSignalEndsAtOnce(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130, syscall.SIGHUP: 129} {
		l, exits := watched(t)
		ctx, stop := l.terminating(context.Background(), time.Minute)
		kill(t, syscall.SIGHUP)
		<-ctx.Done()
		select {
		case got := <-exits:
			t.Errorf("ended with %d at the first signal", got)
		default:
		}
		kill(t, sig)
		if got := <-exits; got != want {
			t.Errorf("%s: status %d, want %d", sig, got, want)
		}
		stop()
	}
}

func kill(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		t.Fatal(err)
	}
}

// SES-181: the time a teardown has ends.
func TestTeardownHasALimit(t *testing.T) {
	l, exits := watched(t)
	outer, cancel := context.WithCancel(context.Background())
	ctx, stop := l.terminating(outer, 30*time.Millisecond)
	cancel()
	<-ctx.Done()
	if got := <-exits; got != 143 {
		t.Errorf("status %d", got)
	}
	stop()
}

// The first signal comes by two ways and counts once; without one nothing ends.
func TestFirstSignalCountsOnce(t *testing.T) {
	l, exits := watched(t)
	outer, cancel := context.WithCancel(context.Background())
	ctx, stop := l.terminating(outer, time.Minute)
	var wg sync.WaitGroup
	wg.Go(cancel)
	kill(t, syscall.SIGTERM)
	<-ctx.Done()
	wg.Wait()
	time.Sleep(20 * time.Millisecond)
	stop()
	select {
	case got := <-exits:
		t.Errorf("ended with %d", got)
	default:
	}
	l, _ = watched(t)
	ctx, stop = l.terminating(context.Background(), time.Minute)
	if ctx.Err() != nil {
		t.Error("over without a signal")
	}
	stop()
	if ctx.Err() == nil {
		t.Error("the watch has ended and its context has not")
	}
}
