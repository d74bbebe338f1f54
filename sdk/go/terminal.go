package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Most keys that the server takes in one frame.
const keysMax = 64 << 10

// Terminal is a connection to a shell on a pseudo terminal: an io.ReadWriteCloser of what it shows and of keys. One goroutine may
// read while another writes.
type Terminal struct {
	manager   *TerminalManager
	sessionID string
	socket    *websocket
	operation string
	left      []byte
	end       *TerminalEnd
}

// TerminalEnd is how a terminal ended.
type TerminalEnd struct {
	// Code of the shell; -1 when it did not exit by itself
	ExitCode int
	// The server's word for it: "exit 0", "closed", or why the sandbox is gone
	Reason string
}

// Open starts a shell and connects to it.
func (m *TerminalManager) Open(ctx context.Context, options *TerminalCreateOptions) (*Terminal, error) {
	session, err := m.Create(ctx, options)
	if err != nil {
		return nil, err
	}
	return m.Attach(ctx, session.SessionID)
}

// Attach connects to a session; its first output is what the last viewers saw. The context is that of the whole connection.
func (m *TerminalManager) Attach(ctx context.Context, sessionID string) (*Terminal, error) {
	c := newCall("GET", terminalPath, m.id, sessionID)
	socket, err := m.api.client.websocket(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Terminal{manager: m, sessionID: sessionID, socket: socket, operation: m.api.client.operation(c)}, nil
}

// SessionID names the session, for [TerminalManager.Attach].
func (t *Terminal) SessionID() string { return t.sessionID }

// Read waits for output; io.EOF at the end, which [Terminal.End] then explains.
func (t *Terminal) Read(buffer []byte) (int, error) {
	for len(t.left) == 0 {
		if t.end != nil {
			return 0, io.EOF
		}
		_, message, err := t.socket.next()
		var closed errClosed
		switch {
		case errors.As(err, &closed):
			t.end = endOf(closed.reason)
		case err != nil:
			return 0, lost(t.operation, err)
		}
		t.left = message
	}
	n := copy(buffer, t.left)
	t.left = t.left[n:]
	return n, nil
}

// Write types.
func (t *Terminal) Write(keys []byte) (int, error) {
	for done := 0; done < len(keys); {
		piece := keys[done:]
		if len(piece) > keysMax {
			piece = piece[:keysMax]
		}
		if err := t.socket.send(wsBinary, piece); err != nil {
			return done, lost(t.operation, err)
		}
		done += len(piece)
	}
	return len(keys), nil
}

// ReadUntil reads until the output holds a text, and gives all that was read; io.ErrUnexpectedEOF when the terminal ends first.
func (t *Terminal) ReadUntil(text string) (string, error) {
	var seen strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(seen.String(), text) {
		n, err := t.Read(buffer)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return seen.String(), err
		}
		seen.Write(buffer[:n])
	}
	return seen.String(), nil
}

// Resize changes the size of the screen.
func (t *Terminal) Resize(cols, rows int) error {
	text, err := json.Marshal(map[string]any{"type": "resize", "cols": cols, "rows": rows})
	if err == nil {
		err = t.socket.send(wsText, text)
	}
	if err != nil {
		return lost(t.operation, err)
	}
	return nil
}

// End is how it ended; nil while it has not, as far as Read has seen.
func (t *Terminal) End() *TerminalEnd { return t.end }

// Detach disconnects; the session lives on.
func (t *Terminal) Detach() error {
	return t.socket.close()
}

// Close ends the shell and all that it started, and disconnects. A session that is over already is no error.
func (t *Terminal) Close() error {
	defer t.Detach()
	_, err := t.manager.Close(context.Background(), t.sessionID)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func endOf(reason string) *TerminalEnd {
	end := &TerminalEnd{ExitCode: -1, Reason: reason}
	if code, err := strconv.Atoi(strings.TrimPrefix(reason, "exit ")); err == nil {
		end.ExitCode = code
	}
	return end
}
