package workfs

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestLocks(t *testing.T) {
	r, _ := openTemp(t, Options{})
	if _, err := r.LockShared(context.Background(), ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("shared lock on nothing: %v", err)
	}
	l, err := r.TryLock(".lock")
	if err != nil {
		t.Fatal(err)
	}
	if e, err := r.Stat(".lock"); err != nil || e.Mode != 0o600 {
		t.Errorf("lock file: %v, %v", e, err)
	}
	if _, err := r.TryLock(".lock"); !errors.Is(err, ErrLocked) {
		t.Errorf("second TryLock: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Lock(ctx, ".lock"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting past the deadline: %v", err)
	}
	if _, err := r.LockShared(ctx, ".lock"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shared against exclusive: %v", err)
	}
	l.Unlock()
	a, err := r.LockShared(context.Background(), ".lock")
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.LockShared(context.Background(), ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.TryLock(".lock"); !errors.Is(err, ErrLocked) {
		t.Errorf("exclusive against shared: %v", err)
	}
	a.Unlock()
	b.Unlock()
}

// A waiter that gets the lock of a removed file takes the new file instead, so
// two holders never think they are alone.
func TestLockOfARemovedFile(t *testing.T) {
	r, _ := openTemp(t, Options{Ephemeral: true})
	var holders, most int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				l, err := r.Lock(context.Background(), "guard")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				holders++
				most = max(most, holders)
				mu.Unlock()
				runtime.Gosched()
				// Once the file has no name the next one may make and lock another.
				mu.Lock()
				holders--
				mu.Unlock()
				if err := r.Remove("guard"); err != nil {
					t.Error(err)
				}
				l.Unlock()
			}
		}()
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d held the lock at once", most)
	}
}
