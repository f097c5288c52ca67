package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxMessage bounds one message, in bytes. The largest that a model writes is a
// frame's results, about 100 KB; the largest that a hook reports is a tool's answer,
// which can hold a whole file.
const maxMessage = 16 << 20

// A message is a JSON-RPC message with the parts that decide where it goes. The
// server reads the rest from raw.
type message struct {
	Version string                   `json:"jsonrpc"`
	ID      mcp.RequestId            `json:"-"` // nil for a notification
	RawID   json.RawMessage          `json:"id"`
	Method  string                   `json:"method"`
	Params  params                   `json:"params"`
	Result  json.RawMessage          `json:"result"`
	Error   *mcp.JSONRPCErrorDetails `json:"error"`

	raw json.RawMessage
}

// params are the parameters that decide where a message goes.
type params struct {
	Name      string                     `json:"name"`
	Arguments json.RawMessage            `json:"arguments"`
	RequestID json.RawMessage            `json:"requestId"` // of notifications/cancelled
	Meta      map[string]json.RawMessage `json:"_meta"`
}

// version returns the protocol version that the request states, or "" if it states none.
func (p params) version() (version string) {
	if json.Unmarshal(p.Meta["io.modelcontextprotocol/protocolVersion"], &version) != nil {
		return "" // the method judges it
	}
	return version
}

// parse reads one message, without a byte order mark before it. If raw is not one, it returns the
// error to answer with.
func parse(raw []byte) (message, *mcp.JSONRPCError) {
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	m := message{raw: raw}
	err := json.Unmarshal(raw, &m)
	if noID := m.readID(); err == nil {
		err = noID
	}
	_, garbage := errors.AsType[*json.SyntaxError](err)
	wrong, _ := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case garbage:
		return m, fault(m.ID, mcp.PARSE_ERROR, "this is not JSON")
	case bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")):
		return m, fault(m.ID, mcp.INVALID_REQUEST, "batches are not supported: send each message by itself")
	case wrong != nil && strings.HasPrefix(wrong.Field, "params"): // the method judges them
	case err != nil:
		return m, fault(m.ID, mcp.INVALID_REQUEST, "this is not a JSON-RPC message: "+err.Error())
	}
	if m.Version != mcp.JSONRPC_VERSION {
		return m, fault(m.ID, mcp.INVALID_REQUEST, `a message needs "jsonrpc": "2.0"`)
	}
	if m.Method == "" && !m.isAnswer() {
		return m, fault(m.ID, mcp.INVALID_REQUEST, "a message needs a method, a result or an error")
	}
	return m, checkVersion(m.ID, m.Params.version())
}

// readID sets the id, as it came: mcp-go reads numbers as float64, in which large ones are others.
func (m *message) readID() error {
	if len(m.RawID) == 0 {
		return nil
	}
	err := m.ID.UnmarshalJSON(m.RawID)
	if _, text := m.ID.Value().(string); !text && err == nil && !bytes.Equal(encode(m.ID), m.RawID) {
		m.ID = mcp.NewRequestId(m.RawID)
	}
	return err
}

// tool returns the name of the called tool, or "" for any other message.
func (m message) tool() string {
	if m.Method == string(mcp.MethodToolsCall) {
		return m.Params.Name
	}
	return ""
}

// isAnswer reports whether the message answers a request of the server.
func (m message) isAnswer() bool {
	return m.Method == "" && (m.Result != nil || m.Error != nil)
}

// checkVersion refuses a request that states a protocol version without
// sessions (2026-07-28 and later): flame knows its callers by their sessions.
// Clients then fall back to initialize, as Claude Code 2.1.328 does.
func checkVersion(id mcp.RequestId, version string) *mcp.JSONRPCError {
	if !mcp.IsModernProtocol(version) {
		return nil
	}
	return unsupported(id, version)
}

// unsupported returns the answer that names the supported protocol versions.
func unsupported(id mcp.RequestId, version string) *mcp.JSONRPCError {
	answer := mcp.UnsupportedProtocolVersionError{Version: version, Supported: mcp.LegacyProtocolVersions()}.JSONRPCError()
	answer.ID = id
	return &answer
}

// fault returns the answer to a message that cannot be served.
func fault(id mcp.RequestId, code int, text string) *mcp.JSONRPCError {
	answer := mcp.NewJSONRPCError(id, code, text, nil)
	return &answer
}

// tooLarge returns the answer to a message that was too long to read.
func tooLarge() *mcp.JSONRPCError {
	return fault(mcp.RequestId{}, mcp.INVALID_REQUEST, fmt.Sprintf("a message may have %d bytes, this has more", maxMessage))
}

// transferTime is how long one message may take to cross the network.
const transferTime = 30 * time.Second

// readMessage reads the message that r posts. If there is none, it has answered
// and ok is false.
func readMessage(w http.ResponseWriter, r *http.Request) (m message, ok bool) {
	// A form in a web page can post text/plain anywhere without asking.
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		http.Error(w, "the Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return m, false
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(transferTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		writeJSON(w, http.StatusRequestEntityTooLarge, tooLarge())
		return m, false
	case err != nil:
		http.Error(w, "the message did not arrive whole", http.StatusBadRequest)
		return m, false
	}
	m, refusal := parse(body)
	if refusal == nil {
		refusal = checkVersionHeader(m.ID, r)
	}
	if refusal != nil {
		writeJSON(w, http.StatusBadRequest, refusal)
		return m, false
	}
	return m, true
}

// checkVersionHeader refuses a protocol version that flame does not speak.
// Clients older than 2025-06 send none.
func checkVersionHeader(id mcp.RequestId, r *http.Request) *mcp.JSONRPCError {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	if version == "" || mcp.IsValidProtocolVersion(version) {
		return checkVersion(id, version)
	}
	return unsupported(id, version)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone needs no answer
}
