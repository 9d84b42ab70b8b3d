// Package provenance signs what mur hands around and verifies who signed it:
// in-toto statements in DSSE envelopes, with keys in local files (ART-213 to
// ART-219). Nobody is asked: a signature is verified offline, against the keys the
// operator trusts.
//
// A signature that verifies says that the holder of a key made a statement about
// bytes of one SHA-256. It says nothing about what they do. Package provenance
// decides no policy: Trust says what is demanded, Check whether it is met.
package provenance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/mur-capsules/mur/lib/diag"
)

// The types of the in-toto attestation framework.
const (
	PayloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	releaseType   = "https://in-toto.io/attestation/release/v0.1"
)

// MaxEnvelope bounds an envelope in bytes, MaxEnvelopes what is looked at for one
// subject.
const (
	MaxEnvelope  = 1 << 20
	MaxEnvelopes = 32
)

// Subject is what a statement is about.
type Subject struct {
	Name   string // <scope>/<name>@<version>, for people
	SHA256 string // of an archive, or of a bundle's OCI manifest; lower-case hex
}

type statement struct {
	Type          string         `json:"_type"`
	Subject       []resource     `json:"subject"`
	PredicateType string         `json:"predicateType"`
	Predicate     map[string]any `json:"predicate"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	Digest map[string]string `json:"digest"`
}

// Sign makes an envelope that says that the key's holder released the subject. It
// is one line of JSON.
func Sign(ctx context.Context, key *PrivateKey, s Subject) ([]byte, error) {
	body, err := json.Marshal(statement{
		Type:          statementType,
		Subject:       []resource{{Name: s.Name, Digest: map[string]string{"sha256": s.SHA256}}},
		PredicateType: releaseType,
		Predicate:     map[string]any{"purl": "pkg:generic/" + s.Name},
	})
	if err != nil {
		return nil, err
	}
	signer, err := dsse.NewEnvelopeSigner(key)
	if err != nil {
		return nil, err
	}
	env, err := signer.SignPayload(ctx, PayloadType, body)
	if err != nil {
		return nil, diag.Errorf("E-REG-104", "the key %s can not sign: %w", key.id, err).Name("path", key.id).Name("reason", err.Error())
	}
	return json.Marshal(env)
}

// Signer returns the id of the key that signed a subject in an envelope: one of
// keys, whose signature verifies. The id is "" when no signature claims to be of
// one of them; the error says what is wrong with one that does.
func Signer(ctx context.Context, envelope []byte, keys []*PublicKey, s Subject) (id string, err error) {
	var env dsse.Envelope
	if len(envelope) > MaxEnvelope {
		return "", nil
	}
	if err := json.Unmarshal(envelope, &env); err != nil {
		return "", nil // not an envelope: nobody signed
	}
	for _, k := range keys {
		if !slices.ContainsFunc(env.Signatures, func(sig dsse.Signature) bool { return sig.KeyID == k.id || sig.KeyID == "" }) {
			continue
		}
		claimed := slices.ContainsFunc(env.Signatures, func(sig dsse.Signature) bool { return sig.KeyID == k.id })
		verifier, verr := dsse.NewEnvelopeVerifier(k)
		if verr != nil {
			return "", verr
		}
		_, body, verr := verifier.VerifyAndDecode(ctx, only(env, k.id))
		if verr == nil {
			verr = about(env.PayloadType, body, s)
			if verr == nil {
				return k.id, nil
			}
		} else {
			verr = errors.New("the signature is not of these bytes")
		}
		if claimed {
			err = fmt.Errorf("a signature of %s: %w", k.id, verr)
		}
	}
	return "", err
}

// only is an envelope with the signatures that one key may have made: the library
// counts each key once and is given no occasion to talk about others.
func only(env dsse.Envelope, id string) *dsse.Envelope {
	out := env
	out.Signatures = nil
	for _, s := range env.Signatures {
		if s.KeyID == id || s.KeyID == "" {
			out.Signatures = []dsse.Signature{s}
			if s.KeyID == id {
				break
			}
		}
	}
	return &out
}

// about reports why a verified payload is no statement about the subject.
func about(payloadType string, body []byte, s Subject) error {
	if payloadType != PayloadType {
		return fmt.Errorf("its payload is a %s", diag.Quote(payloadType))
	}
	var st statement
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(&st); err != nil || dec.More() {
		return errors.New("its payload is no statement")
	}
	switch {
	case st.Type != statementType:
		return fmt.Errorf("its statement is a %s", diag.Quote(st.Type))
	case st.PredicateType != releaseType:
		return fmt.Errorf("its statement is about %s, not a release", diag.Quote(st.PredicateType))
	case !slices.ContainsFunc(st.Subject, func(r resource) bool { return r.Digest["sha256"] == s.SHA256 }):
		return errors.New("it is about other bytes")
	}
	return nil
}

// Trust is what an operator demands.
type Trust struct {
	Artifacts, Bundles bool // must be signed by one of Keys
	Keys               []*PublicKey
}

// Wanted reports whether signatures are of any use here: demanded, or at least
// verifiable.
func (t Trust) Wanted() bool { return t.Artifacts || t.Bundles || len(t.Keys) > 0 }

// Check finds who signed a subject in envelopes and returns the ids of trusted
// keys. When demanded is set, none is E-REG-102, and E-REG-103 where a trusted
// key's signature is there and does not verify.
func (t Trust) Check(ctx context.Context, demanded bool, envelopes [][]byte, s Subject) ([]string, error) {
	var ids []string
	var bad error
	for i, e := range envelopes {
		if i == MaxEnvelopes {
			break
		}
		id, err := Signer(ctx, e, t.Keys, s)
		if err != nil && bad == nil {
			bad = err
		}
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 || !demanded {
		return ids, nil
	}
	subject := diag.Subject{Kind: diag.Artifact, Name: s.Name}
	if bad != nil {
		return nil, diag.Errorf("E-REG-103", "%s (sha256 %s): %w", s.Name, s.SHA256, bad).
			Hint("do not use it; ask whoever holds the key").
			About(subject).Name("name@version", s.Name).Name("key", bad.Error()).Name("reason", bad.Error())
	}
	found := "no signature"
	if len(envelopes) > 0 {
		found = fmt.Sprintf("%d attestations, none that a key of trust.keys signed", len(envelopes))
	}
	return nil, diag.Errorf("E-REG-102", "%s (sha256 %s) must be signed, and has %s", s.Name, s.SHA256, found).
		Hint("sign it with mur-lock sign, or add the signer's public key to trust.keys in the global config.yaml").
		About(subject).Name("name@version", s.Name).Name("digest", "sha256:"+s.SHA256).Name("keys found", found)
}

// Open reads the keys of a Trust from their files. The error is E-REG-104.
func Open(artifacts, bundles bool, keyFiles []string) (Trust, error) {
	t := Trust{Artifacts: artifacts, Bundles: bundles}
	for _, path := range keyFiles {
		k, err := ReadPublic(path)
		if err != nil {
			return Trust{}, err
		}
		t.Keys = append(t.Keys, k)
	}
	return t, nil
}
