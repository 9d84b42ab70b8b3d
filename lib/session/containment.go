package session

import "github.com/mur-capsules/mur/lib/policy"

// Containment is the class decision (CON section 3). TempMapping is
// "private-tmp" or "env-only".
type Containment struct {
	Declared    policy.Class  `json:"declared"`
	DeclaredBy  []policy.Vote `json:"declared_by"`
	Achieved    policy.Class  `json:"achieved"`
	Tier        string        `json:"tier"`
	Shortfall   *string       `json:"shortfall"`
	TempMapping string        `json:"temp_mapping" words:"private-tmp,env-only"`
	Unconfined  bool          `json:"unconfined"`
}

// HostFact says where the facts about an allowed binary came from: "probe" or
// "cache".
type HostFact struct {
	Binary string `json:"binary"`
	Path   string `json:"path"`
	Source string `json:"source" words:"probe,cache"`
}

// ProtectedPath is a lowered read_only entry; Relative is beneath the work
// folder.
type ProtectedPath struct {
	Rule     string `json:"rule"`
	Relative string `json:"relative"`
}

// ToolAnnotations are the annotated paths of a tool's input (MAN-273, MAN-274).
// Templates is nil when the schema declares no usable list; an empty list says
// that the tool writes nothing its input names.
type ToolAnnotations struct {
	Destinations []string  `json:"destinations"`
	Opaque       []string  `json:"opaque"`
	Templates    *[]string `json:"templates"`
}
