package stage

import (
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/spend"
)

// openSpend notes the ceilings of an agent and proves that the machine's ledger
// can be used where one of them needs it (step 26, AGT-155, DEL-1805).
func (s *staging) openSpend() error {
	if !s.agent() {
		return nil
	}
	s.spend = session.Spend{
		MaxSessionTokens: s.capsule.Inference.MaxSessionTokens, MachineTokensPerDay: s.config.MachineTokensPerDay, TreeTokens: s.config.TreeTokens,
	}
	if s.spend.MachineTokensPerDay == nil && s.spend.TreeTokens == nil {
		return nil
	}
	ledger, err := spend.Open(s.home, spend.Account{Session: s.id}, s.in.Now)
	if err != nil {
		return s.spendFault(err)
	}
	s.spend.LedgerDir = ptr(s.home.Join(spend.Dir))
	return ledger.Close()
}

func (s *staging) spendFault(err error) error {
	path := s.home.Join(spend.Dir)
	return diag.Errorf("E-RUN-026", "the spend ledger %s can not be used: %w", path, err).
		Hint("the configuration sets a spend ceiling; make the directory writable for you alone, or remove the ceiling").
		In("check").About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path).Name("reason", err.Error())
}
