package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/store/source"
)

// answer puts what a registry or the network said into plain words. Absence is a
// *source.AbsentError; bytes that are not those promised are E-REG-002. URLs are
// given without their queries, which may hold signatures.
func answer(a Address, err error) error {
	var bytes *layout.MismatchError
	var resp *errcode.ErrorResponse
	var u *url.Error
	switch {
	case err == nil, diag.CodeOf(err) != "":
		return err
	case errors.As(err, &bytes):
		return diag.Errorf("E-REG-002", "%s: %w", a, err).
			Hint("the registry's copy is damaged or was changed; do not use it, and tell whoever runs it").
			About(diag.Subject{Kind: diag.Artifact, Name: a.String()}).
			Name("name@version", a.String()).Name("record", "manifest").
			Name("expected", bytes.Expected).Name("actual", bytes.Actual)
	case errors.Is(err, errdef.ErrNotFound):
		return &source.AbsentError{Reason: "the registry has no such artifact"}
	case errors.As(err, &resp):
		return response(a, resp)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fmt.Errorf("it asks for a user and a password, and there are none for it: docker login %s, or a token in registry.sources of config.yaml", a.Registry)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the connection ended in the middle of an answer, as often as it was asked: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s", source.MetadataTimeout)
	case errors.As(err, &u):
		if clean, perr := url.Parse(u.URL); perr == nil {
			clean.RawQuery, clean.User = "", nil
			return fmt.Errorf("%s %s: %w", strings.ToUpper(u.Op), clean, u.Err)
		}
	}
	return err
}

func response(a Address, resp *errcode.ErrorResponse) error {
	said := resp.Errors.Error()
	if len(resp.Errors) == 0 {
		said = http.StatusText(resp.StatusCode)
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		return &source.AbsentError{Reason: "the registry has no such artifact"}
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("it refuses (HTTP %d: %s); the credentials are those of docker login, or of registry.sources in config.yaml", resp.StatusCode, said)
	case http.StatusTooManyRequests:
		return fmt.Errorf("rate limit (HTTP 429 Too Many Requests: %s)", said)
	}
	return fmt.Errorf("HTTP %d: %s", resp.StatusCode, said)
}

// Fault gives what a registry said about an address the code of a single place
// that was asked: E-REG-001 or E-REG-006 (ART-62).
func Fault(a Address, err error) error {
	var absent *source.AbsentError
	subject := diag.Subject{Kind: diag.Artifact, Name: a.String()}
	switch {
	case err == nil, diag.CodeOf(err) != "", errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &absent):
		return diag.Errorf("E-REG-001", "there is no %s: %w", a, err).
			About(subject).Name("name@version", a.String())
	}
	return diag.Errorf("E-REG-006", "%s: the registry did not answer: %w", a, err).
		Hint("try again later, or use what a store or a file has").
		About(subject).Name("artifact", a.String()).Name("answers", err.Error())
}
