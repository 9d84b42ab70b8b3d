package launch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// SES-194, SES-195, SES-46, SES-119
func TestJudge(t *testing.T) {
	trap := diag.Errorf("E-RUN-001", "local/x@1: the guest trapped")
	link := diag.Errorf("E-RUN-103", "out: refused: it is a link")
	lost := diag.Errorf("E-RUN-007", "a line of the trace was not written")
	for _, c := range []struct {
		name              string
		run, cause, latch error
		status            string
		code              diag.Code // of the error mur-launch ends with
		says              string
	}{
		{"returned", nil, nil, nil, "ok", "", ""},
		{"returned as a signal came", nil, context.Canceled, nil, "ok", "", ""},
		{"trapped", trap, nil, nil, "failed", "E-RUN-040", "ended failed: E-RUN-001: local/x@1: the guest trapped"},
		{"ended by a signal", errors.New("cancelled"), context.Canceled, nil, "canceled", "E-RUN-040", "ended canceled: a signal ended it"},
		{"met a link", nil, nil, link, "failed", "E-RUN-040", "E-RUN-103: out: refused"},
		{"met a link and failed", trap, nil, link, "failed", "E-RUN-040", "E-RUN-103"},
		{"lost its trace", errors.New("cancelled"), lost, nil, "failed", "E-RUN-007", "a line of the trace"},
		{"lost its trace unnoticed", nil, lost, nil, "failed", "E-RUN-007", "a line of the trace"},
		{"uncoded", errors.New("odd"), nil, nil, "failed", "E-RUN-007", "odd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := judge(c.run, c.cause, c.latch)
			err := end.report("ses_1", "/records")
			if end.status != c.status {
				t.Errorf("status %q, want %q", end.status, c.status)
			}
			if c.code == "" {
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
				return
			}
			if err == nil || err.Code != c.code || !strings.Contains(err.Message, c.says) {
				t.Errorf("error %#v, want %s with %q", err, c.code, c.says)
			}
		})
	}
}
