// Package remote opens the sources a configuration names (ART-59, ART-60): it
// alone knows every kind there is. It asks nobody.
package remote

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/store/github"
	"github.com/mur-capsules/mur/lib/store/oci"
	"github.com/mur-capsules/mur/lib/store/source"
)

// The types of sources.
const (
	GitHub = "github" // repo: <owner>/<name>
	OCI    = "oci"    // repo: <registry>/<path>
)

// Options of Open.
type Options struct {
	Environ   []string // KEY=VALUE
	Limits    artifact.Limits
	UserAgent string
	Attested  bool   // attestations are fetched with what they are about
	GitHubAPI string // "" for GitHub's own; tests set it
}

// Remote is what a configuration leads to.
type Remote struct {
	Sources  source.Chain
	Registry *oci.Client
	GitHub   *github.Client

	environ []string
	bases   map[string]oci.Base // of the sources of type oci, by name
}

// Open opens the sources of a configuration, the default one first. One that is
// misconfigured stays in its place and answers with its fault.
func Open(cfg config.Registry, o Options) *Remote {
	r := &Remote{environ: o.Environ, bases: map[string]oci.Base{}}
	r.GitHub = &github.Client{API: o.GitHubAPI, UserAgent: o.UserAgent, Limits: o.Limits}
	r.Registry = oci.NewClient(oci.Options{Environ: o.Environ, UserAgent: o.UserAgent, Token: tokens(cfg, o.Environ)})
	for _, s := range cfg.Sources {
		src := r.open(s, o)
		if s.Name == cfg.Default {
			r.Sources = append(source.Chain{src}, r.Sources...)
		} else {
			r.Sources = append(r.Sources, src)
		}
	}
	return r
}

func (r *Remote) open(s config.Source, o Options) source.Source {
	broken := func(err error) source.Source {
		return source.Broken{Name: s.Name, Where: s.Type + " " + s.Repo, Reason: fmt.Errorf("it is misconfigured: %w", err)}
	}
	switch s.Type {
	case GitHub:
		owner, repo, err := github.ParseRepo(s.Repo)
		if err != nil {
			return broken(err)
		}
		src := r.Repo(owner, repo)
		src.Name = s.Name
		if s.HasToken {
			src.Token = source.Token(s.Token.Reveal(), o.Environ)
		}
		return src
	case OCI:
		base, err := oci.ParseBase(s.Repo)
		if err != nil {
			return broken(errors.New(err.Error()))
		}
		r.bases[s.Name] = base
		return &oci.Source{Name: s.Name, Base: base, Client: r.Registry, Limits: o.Limits, Attested: o.Attested}
	case "":
		return broken(errors.New("it has no type"))
	}
	return broken(fmt.Errorf("its type is %s; %s or %s is expected", diag.Quote(s.Type), GitHub, OCI))
}

// Repo is a GitHub repository, asked with the token of GITHUB_TOKEN.
func (r *Remote) Repo(owner, repo string) *github.Repo {
	return &github.Repo{Client: r.GitHub, Name: "github", Owner: owner, Repo: repo, Token: source.Variable("GITHUB_TOKEN", r.environ)}
}

// Base is where a source of type oci keeps its artifacts, by the source's name.
func (r *Remote) Base(name string) (oci.Base, bool) {
	b, ok := r.bases[name]
	return b, ok
}

// tokens finds the token of the source an address lies in.
func tokens(cfg config.Registry, environ []string) func(oci.Address) string {
	type place struct{ registry, prefix, token string }
	var places []place
	for _, s := range cfg.Sources {
		base, err := oci.ParseBase(s.Repo)
		if s.Type == OCI && err == nil && s.HasToken {
			places = append(places, place{base.Registry, strings.TrimPrefix(base.Path+"/", "/"), source.Token(s.Token.Reveal(), environ)})
		}
	}
	return func(a oci.Address) string {
		for _, p := range places {
			if a.Registry == p.registry && strings.HasPrefix(a.Repository, p.prefix) {
				return p.token
			}
		}
		return ""
	}
}
