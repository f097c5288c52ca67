package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"flame/core"
	"flame/project/place"
)

// mostTold bounds how many findings of one kind the doctor lists.
const mostTold = 10

// checkDefinitions reports what is wrong with definitions of agents. None of it
// keeps flame from working.
func (d Doctor) checkDefinitions() (findings []core.Finding) {
	catalog, err := d.Catalog()
	if err != nil {
		return []core.Finding{problemFinding("agents: ", err)}
	}
	for i, found := range catalog.Findings {
		if i == mostTold {
			more := fmt.Sprintf("agents: %d more findings", len(catalog.Findings)-mostTold)
			return append(findings, core.Finding{What: more, Hint: "`flame agents doctor` lists all"})
		}
		hint := "correct that file, or remove it"
		if found.Fatal {
			hint += ": until then it defines no agent, and no other of its name is used instead"
		}
		findings = append(findings, core.Finding{What: "agents: " + found.String(), Hint: hint})
	}
	return findings
}

// checkGrants reports active grants that were made while agents ran: an agent
// with a shell can do what a person at a terminal does.
func (d Doctor) checkGrants(ctx context.Context, at place.Place) (findings []core.Finding) {
	p, closeProject, err := d.Open(at, false)
	if err != nil {
		return nil // reported by checkData
	}
	defer closeProject()
	s, err := d.Agents(p, at)
	if err != nil {
		return []core.Finding{problemFinding("agents: ", err)}
	}
	grants, err := s.Grants().List(ctx)
	if err != nil {
		return nil
	}
	for _, g := range grants {
		if len(g.During) == 0 || g.ExpiresAt > 0 && g.ExpiresAt <= p.Now() {
			continue
		}
		findings = append(findings, core.Finding{
			What: fmt.Sprintf("agents: %s, which lets %s, was made at %s while %s ran", g.ID, g.Lets(),
				g.MadeAt.Time().Local().Format(time.DateTime), strings.Join(g.During, ", ")),
			Hint: "if you did not make it: `flame agents revoke " + g.ID + "`",
		})
	}
	return findings
}
