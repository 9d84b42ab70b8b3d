package session

import "testing"

// SES-228: the URL alone changes.
func TestSetMurmurURL(t *testing.T) {
	const staged = "# demo\n\n## Identity\n\n- session: s\n- URL: \n\n## Capsule\n\n- URL: of something else\n"
	got, err := SetMurmurURL([]byte(staged), "localhost:4321")
	if err != nil || string(got) != "# demo\n\n## Identity\n\n- session: s\n- URL: localhost:4321\n\n## Capsule\n\n- URL: of something else\n" {
		t.Errorf("%q, %v", got, err)
	}
	again, err := SetMurmurURL(got, "localhost:1")
	if err != nil || string(again) != "# demo\n\n## Identity\n\n- session: s\n- URL: localhost:1\n\n## Capsule\n\n- URL: of something else\n" {
		t.Errorf("%q, %v", again, err)
	}
	for _, text := range []string{"", "# demo\n", "x\n- URL: "} {
		if _, err := SetMurmurURL([]byte(text), "u"); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
