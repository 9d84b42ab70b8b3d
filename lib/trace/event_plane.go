package trace

// ResourceList, ResourceRead, PeerHandleMint, PeerHandleRedeem and
// PeerFileFetch are written as they happen and may follow SessionEnd while the
// door is still open (TRC-62).

// ResourceList is one listing of the exported files (TRC-57).
type ResourceList struct {
	Root                string  `json:"root"` // "" when nothing is exported
	EntryCount          int64   `json:"entry_count"`
	TotalBytes          int64   `json:"total_bytes"` // 0 unless ok
	Generation          int64   `json:"generation"`
	ContainmentAchieved string  `json:"containment_achieved"`
	Outcome             string  `json:"outcome"` // ok or the error code
	Reason              *string `json:"reason"`  // null when ok
}

// ResourceRead is one read of an exported file (TRC-58).
type ResourceRead struct {
	Path                string  `json:"path"` // after percent-decoding, before validation
	Outcome             string  `json:"outcome"`
	Bytes               *int64  `json:"bytes"` // null unless ok
	SHA256              *string `json:"sha256"`
	Generation          int64   `json:"generation"`
	ContainmentAchieved string  `json:"containment_achieved"`
	Reason              *string `json:"reason"`
}

// PeerHandleMint is a handle minted for a peer, or the refusal of one
// (TRC-59). HandleID is the first 16 hex digits of the token's SHA-256.
type PeerHandleMint struct {
	HandleID    *string `json:"handle_id"` // null unless ok
	Path        string  `json:"path"`
	Audience    string  `json:"audience"`
	ExpiresAtMS *int64  `json:"expires_at_ms"`
	Outcome     string  `json:"outcome"`
	Reason      *string `json:"reason"`
}

// PeerHandleRedeem is a handle presented by a peer (TRC-60).
type PeerHandleRedeem struct {
	HandleID         string  `json:"handle_id"`
	Path             *string `json:"path"` // null until the MAC verified
	Generation       int64   `json:"generation"`
	AudienceAsserted *string `json:"audience_asserted"`
	Bytes            *int64  `json:"bytes"`
	SHA256           *string `json:"sha256"`
	Outcome          string  `json:"outcome"`
	Reason           *string `json:"reason"`
}

// PeerFileFetch is a file fetched from a peer (TRC-61). Outcome is ok,
// peer_not_allowed, peer_unreachable, etag_mismatch, too_large, io_error, the
// peer's code or http_<status>.
type PeerFileFetch struct {
	Peer       string  `json:"peer"`
	HandleID   string  `json:"handle_id"`
	StoredPath *string `json:"stored_path"` // null unless ok
	Bytes      *int64  `json:"bytes"`
	SHA256     *string `json:"sha256"`
	Outcome    string  `json:"outcome"`
	Reason     *string `json:"reason"`
}

func (ResourceList) Type() Type     { return "resource_list" }
func (ResourceRead) Type() Type     { return "resource_read" }
func (PeerHandleMint) Type() Type   { return "peer_handle_mint" }
func (PeerHandleRedeem) Type() Type { return "peer_handle_redeem" }
func (PeerFileFetch) Type() Type    { return "peer_file_fetch" }
