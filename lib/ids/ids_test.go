package ids

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// SES-1, SES-4, SES-5, SES-6
func TestNewHasTheShapeOfItsPrefix(t *testing.T) {
	for p := range known {
		id := New(p)
		if len(id) != Len || !strings.HasPrefix(id, string(p)+"_") {
			t.Fatalf("New(%s) = %q", p, id)
		}
		if strings.ContainsAny(id[4:], "-ABCDEF") {
			t.Fatalf("%q is not 32 lowercase hex digits", id)
		}
		got, _, err := Parse(id)
		if err != nil || got != p {
			t.Fatalf("Parse(%q) = %q, %v", id, got, err)
		}
		if err := Check(p, id); err != nil {
			t.Fatal(err)
		}
	}
}

// SES-2: far more ids than milliseconds pass, and all of them increase.
func TestIdsOfOneProcessIncrease(t *testing.T) {
	const each = 20000
	var (
		mu  sync.Mutex
		all []string
		wg  sync.WaitGroup
	)
	for range 4 {
		wg.Go(func() {
			own := make([]string, each)
			for i := range own {
				own[i] = New(Event)
			}
			if !slices.IsSorted(own) {
				t.Error("ids of one goroutine are not in the order they were minted")
			}
			mu.Lock()
			all = append(all, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 4*each {
		t.Fatalf("%d distinct ids of %d", n, 4*each)
	}
}

// SES-2: the first 12 digits are the time of minting.
func TestTimeIsTheTimeOfMinting(t *testing.T) {
	before := time.Now().UnixMilli()
	id := New(Session)
	after := time.Now().UnixMilli()
	got, err := Time(id)
	if err != nil {
		t.Fatal(err)
	}
	// Other tests of this process may have run the counter ahead by some ms.
	if got.UnixMilli() < before || got.UnixMilli() > after+1000 {
		t.Fatalf("Time(%q) = %d, want %d to %d", id, got.UnixMilli(), before, after)
	}
	fixed, err := Time("ses_0190a1b2c3d47000800000000000000f")
	if err != nil || fixed.UnixMilli() != 0x0190a1b2c3d4 {
		t.Fatalf("Time = %v, %v", fixed, err)
	}
}

// SES-7
func TestHarnessSessionIsABareUUID(t *testing.T) {
	id := NewHarnessSession()
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 || len(id) != 36 || id != strings.ToLower(id) {
		t.Fatalf("%q: version %d, %v", id, u.Version(), err)
	}
}

// SES-1, SES-3: nothing is an id that New could not have minted.
func TestParseRefuses(t *testing.T) {
	good := "ses_0190a1b2c3d47000800000000000000f"
	for _, bad := range []string{
		"", "ses_", "ses", good[4:], "xyz" + good[3:], good[:len(good)-1], good + "0",
		strings.ToUpper(good), "ses_0190A1b2c3d47000800000000000000f",
		"ses_0190a1b2-c3d4-7000-8000-00000000000f",
		"ses_0190a1b2c3d44000800000000000000f", // version 4
		"ses_0190a1b2c3d47000c00000000000000f", // another variant
		"ses_0190a1b2c3d4700080000000000000zz", strings.Repeat("x", 10000),
	} {
		if _, _, err := Parse(bad); err == nil {
			t.Errorf("Parse(%q) accepts", bad)
		} else if len(err.Error()) > 200 {
			t.Errorf("message of %d bytes", len(err.Error()))
		}
		if _, err := Time(bad); err == nil {
			t.Errorf("Time(%q) accepts", bad)
		}
	}
	if err := Check(Task, good); err == nil {
		t.Error("a session id passes for a task id")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ses_0190a1b2c3d47000800000000000000f")
	f.Add("evt_")
	f.Fuzz(func(t *testing.T, s string) {
		p, u, err := Parse(s)
		if err == nil && (len(s) != Len || !strings.HasPrefix(s, string(p)) || uuid.UUID(u).Version() != 7) {
			t.Fatalf("accepts %q", s)
		}
	})
}
