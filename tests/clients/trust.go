package clients

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// TrustHooks does what "Trust all and continue" of Codex does: it asks Codex's app server, which
// server starts, for the hooks of a project, and has it write that they were reviewed.
func TrustHooks(server *exec.Cmd, project string) error {
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { _ = errors.Join(in.Close(), server.Process.Kill(), server.Wait()) }() // it has done its work
	return appServer{in, bufio.NewReader(out)}.trust(project)
}

// An appServer is a running app server.
type appServer struct {
	in  io.Writer
	out *bufio.Reader
}

func (a appServer) trust(project string) error {
	client := map[string]string{"name": "test", "title": "test", "version": "1"}
	if err := a.ask(0, "initialize", map[string]any{"clientInfo": client}, nil); err != nil {
		return err
	}
	if _, err := io.WriteString(a.in, `{"method":"initialized"}`+"\n"); err != nil {
		return err
	}
	var list struct {
		Data []struct {
			Hooks []struct{ Key, CurrentHash string }
		}
	}
	if err := a.ask(1, "hooks/list", map[string]any{"cwds": []string{project}}, &list); err != nil {
		return err
	}
	reviewed := map[string]any{}
	for _, folder := range list.Data {
		for _, hook := range folder.Hooks {
			reviewed[hook.Key] = map[string]string{"trusted_hash": hook.CurrentHash}
		}
	}
	if len(reviewed) == 0 {
		return errors.New("codex knows no hooks")
	}
	edit := map[string]any{"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": reviewed}
	return a.ask(2, "config/batchWrite", map[string]any{"edits": []any{edit}}, nil)
}

// ask waits for the answer to a request, and reads its result into what result points to.
func (a appServer) ask(id int, method string, params, result any) error {
	if err := json.NewEncoder(a.in).Encode(map[string]any{"id": id, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := a.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		var answer struct {
			ID            *int
			Result, Error json.RawMessage
		}
		switch {
		case json.Unmarshal(line, &answer) != nil || answer.ID == nil || *answer.ID != id:
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", method, answer.Error)
		case result == nil:
			return nil
		default:
			return json.Unmarshal(answer.Result, result)
		}
	}
}
