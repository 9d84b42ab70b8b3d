// Package github fetches artifacts from the releases of GitHub repositories,
// through the REST API (ART-59 to ART-66). A token goes to the API's own host
// alone and is in no message.
package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/source"
)

// API is where GitHub answers.
const API = "https://api.github.com"

// maxAnswer bounds an answer of the API in bytes.
const maxAnswer = 8 << 20

// Client asks the API. It is safe for concurrent use.
type Client struct {
	// API replaces the constant API; tests set it.
	API       string
	UserAgent string
	Limits    artifact.Limits
}

// Repo is a repository as a source.
type Repo struct {
	Client *Client
	Name   string // as configured
	Owner  string
	Repo   string
	Token  string // "" for none
}

var repoForm = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?)/([A-Za-z0-9._-]{1,100})$`)

// ParseRepo splits <owner>/<name>.
func ParseRepo(s string) (owner, repo string, err error) {
	m := repoForm.FindStringSubmatch(s)
	if m == nil || m[2] == "." || m[2] == ".." {
		return "", "", fmt.Errorf("repo is %s; <owner>/<name> is expected", diag.Quote(s))
	}
	return m[1], m[2], nil
}

// Label is the source's name.
func (r *Repo) Label() string { return r.Name }

// Address is where it is.
func (r *Repo) Address() string { return "github:" + r.Owner + "/" + r.Repo }

// Scope is the owner, lower-cased (ART-64).
func (r *Repo) Scope() string { return strings.ToLower(r.Owner) }

type release struct {
	TagName string  `json:"tag_name"`
	Assets  []asset `json:"assets"`
}

type asset struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	URL    string `json:"url"`
	Digest string `json:"digest"` // sha256:<hex>, where GitHub knows it
}

// release gets a release: that of a tag, or the newest. The error is a
// *source.AbsentError when there is none.
func (r *Repo) release(ctx context.Context, tag string) (release, error) {
	at := "releases/latest"
	if tag != "" {
		at = "releases/tags/" + url.PathEscape(tag)
	}
	var out release
	err := r.get(ctx, at, &out)
	return out, err
}

// owner is the immutable identity of the owner (ART-65).
func (r *Repo) owner(ctx context.Context) (string, error) {
	var out struct {
		Owner struct {
			ID int64 `json:"id"`
		} `json:"owner"`
	}
	if err := r.get(ctx, "", &out); err != nil {
		return "", err
	}
	if out.Owner.ID == 0 {
		return "", nil
	}
	return "github:" + strconv.FormatInt(out.Owner.ID, 10), nil
}

func (r *Repo) get(ctx context.Context, at string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, source.MetadataTimeout)
	defer cancel()
	u := strings.TrimSuffix(r.api()+"/repos/"+r.Owner+"/"+r.Repo+"/"+at, "/")
	resp, err := r.do(ctx, u, "application/vnd.github+json")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(data) > maxAnswer {
		return fmt.Errorf("its answer has more than %d bytes", maxAnswer)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("its answer can not be read: %w", err)
	}
	return nil
}

func (r *Repo) api() string {
	if r.Client.API != "" {
		return r.Client.API
	}
	return API
}

func (r *Repo) do(ctx context.Context, u, accept string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	if r.Client.UserAgent != "" {
		req.Header.Set("User-Agent", r.Client.UserAgent)
	}
	api, err := url.Parse(r.api())
	if err != nil {
		return nil, err
	}
	if r.Token != "" && req.URL.Host == api.Host && req.URL.Scheme == api.Scheme {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	client := &http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if to.URL.Scheme != "https" && to.URL.Host != api.Host {
			return errors.New("it redirects to plain HTTP")
		}
		if len(via) >= 10 {
			return errors.New("it redirects more than 10 times")
		}
		return nil
	}}
	resp, err := client.Do(req)
	var ue *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no answer within %s", source.MetadataTimeout)
	case errors.As(err, &ue):
		return nil, ue.Err // its URL may be a signed one
	case err != nil:
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

// refusal words an answer that is none (ART-62).
func refusal(resp *http.Response) error {
	var said struct {
		Message string `json:"message"`
	}
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = json.Unmarshal(data, &said)
	if said.Message == "" {
		said.Message = http.StatusText(resp.StatusCode)
	}
	limited := resp.StatusCode == http.StatusTooManyRequests ||
		resp.StatusCode == http.StatusForbidden && (resp.Header.Get("X-RateLimit-Remaining") == "0" || resp.Header.Get("Retry-After") != "")
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return &source.AbsentError{Reason: "it has no such release or repository"}
	case limited:
		until := ""
		if at, err := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil {
			until = "; it ends at " + time.Unix(at, 0).UTC().Format(time.RFC3339)
		} else if s := resp.Header.Get("Retry-After"); s != "" {
			until = "; try again after " + s + " s"
		}
		return fmt.Errorf("rate limit (HTTP %d: %s)%s", resp.StatusCode, said.Message, until)
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("it refuses (HTTP %d: %s)", resp.StatusCode, said.Message)
	}
	return fmt.Errorf("HTTP %d: %s", resp.StatusCode, said.Message)
}

// download gets an asset and checks it against the digest GitHub has of it.
func (r *Repo) download(ctx context.Context, a asset, progress source.Progress) (source.Got, error) {
	from := r.Address() + "/" + a.Name
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := r.do(ctx, a.URL, "application/octet-stream")
	if err != nil {
		return source.Got{}, err
	}
	data, err := source.ReadAll(ctx, resp.Body, cancel, a.Name, resp.ContentLength, r.Client.Limits.ArchiveBytes(), source.IdleTimeout, progress)
	if err != nil {
		return source.Got{}, err
	}
	got := source.Got{Scope: r.Scope(), Bytes: data, SHA256: artifact.Hash(data), From: from}
	if want, ok := strings.CutPrefix(a.Digest, "sha256:"); ok && want != got.SHA256 {
		return source.Got{}, diag.Errorf("E-REG-002", "%s: the bytes do not have the hash GitHub has of them: expected %s, actual %s", from, diag.Quote(want), got.SHA256).
			About(diag.Subject{Kind: diag.Artifact, Name: from}).Name("name@version", from).
			Name("record", "release").Name("expected", want).Name("actual", got.SHA256)
	}
	got.OwnerID, err = r.owner(ctx)
	return got, err
}

// Fetch implements source.Source with the order of ART-61.
func (r *Repo) Fetch(ctx context.Context, want source.Want, progress source.Progress) (source.Got, error) {
	for _, tag := range []string{want.Version, "v" + want.Version, ""} {
		rel, err := r.release(ctx, tag)
		var absent *source.AbsentError
		if errors.As(err, &absent) {
			continue
		}
		if err != nil {
			return source.Got{}, err
		}
		for _, platform := range []string{want.Platform, ""} {
			file := artifact.FileName(want.Name.Name, want.Version, platform)
			if i := slices.IndexFunc(rel.Assets, func(a asset) bool { return a.Name == file }); i >= 0 {
				got, err := r.download(ctx, rel.Assets[i], progress)
				got.Version, got.Platform = want.Version, platform
				return got, err
			}
		}
	}
	return source.Got{}, &source.AbsentError{Reason: fmt.Sprintf("no release tagged %s or v%s, nor the newest, has a file %s",
		want.Version, want.Version, artifact.FileName(want.Name.Name, want.Version, ""))}
}

// Newest implements source.Source: the newest version of the name in the newest
// release.
func (r *Repo) Newest(ctx context.Context, name names.Full, platform string) (string, error) {
	rel, err := r.release(ctx, "")
	if err != nil {
		return "", err
	}
	best := ""
	for _, a := range rel.Assets {
		v, ok := versionIn(a.Name, name.Name, platform)
		if ok && (best == "" || store.CompareVersions(v, best) > 0) {
			best = v
		}
	}
	return best, nil
}

// versionIn is the version in a file name of ART-61 for a platform.
func versionIn(file, name, platform string) (string, bool) {
	stem, ok := strings.CutSuffix(file, artifact.Suffix)
	if !ok {
		return "", false
	}
	v, ok := strings.CutPrefix(stem, name+"-")
	if !ok {
		return "", false
	}
	for _, p := range artifact.Platforms() {
		if rest, tagged := strings.CutSuffix(v, "-"+p); tagged {
			if p != platform {
				return "", false
			}
			v = rest
		}
	}
	return v, names.CheckVersion(v) == nil
}

// Release gets every archive of the release of a tag that this platform can use
// (ART-12). The error is E-REG-001 when the release has none, E-REG-006 when
// GitHub did not answer.
func (r *Repo) Release(ctx context.Context, tag, platform string, progress source.Progress) ([]source.Got, error) {
	what := r.Address() + "@" + tag
	fault := func(err error) error {
		var absent *source.AbsentError
		code := diag.Code("E-REG-006")
		switch {
		case diag.CodeOf(err) != "" || ctx.Err() != nil:
			return err
		case errors.As(err, &absent):
			code = "E-REG-001"
		}
		return diag.Errorf(code, "%s: %w", what, err).About(diag.Subject{Kind: diag.Artifact, Name: what}).
			Name("name@version", what).Name("artifact", what).Name("answers", err.Error())
	}
	rel, err := r.release(ctx, tag)
	if err != nil {
		return nil, fault(err)
	}
	var out []source.Got
	for _, a := range rel.Assets {
		if !strings.HasSuffix(a.Name, artifact.Suffix) || path.Base(a.Name) != a.Name {
			continue
		}
		mine, other := "", false
		for _, p := range artifact.Platforms() {
			if strings.HasSuffix(a.Name, "-"+p+artifact.Suffix) {
				mine, other = p, p != platform
			}
		}
		if other {
			continue
		}
		got, err := r.download(ctx, a, progress)
		if err != nil {
			return nil, fault(err)
		}
		got.Platform = mine
		out = append(out, got)
	}
	if len(out) == 0 {
		return nil, fault(&source.AbsentError{Reason: "the release has no " + artifact.Suffix + " file for " + platform})
	}
	return out, nil
}
