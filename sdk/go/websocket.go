package sandbox

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1" // the WebSocket handshake is defined with it; nothing secret hangs on it
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// What of the WebSocket protocol a terminal needs: whole messages, pings, and an orderly end.
const (
	wsContinuation = 0x0
	wsText         = 0x1
	wsBinary       = 0x2
	wsClose        = 0x8
	wsPing         = 0x9
	wsPong         = 0xA

	wsMessageMax = 16 << 20 // a server must not fill the memory
	wsControlMax = 125
	wsGUID       = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

type websocket struct {
	ctx    context.Context // it ends the conversation
	conn   io.ReadWriteCloser
	reader *bufio.Reader
	mutex  sync.Mutex // of writes: a reader answers pings while another goroutine types
	once   sync.Once
	closed chan struct{}
}

func newWebsocket(ctx context.Context, conn io.ReadWriteCloser) *websocket {
	w := &websocket{ctx: ctx, conn: conn, reader: bufio.NewReader(conn), closed: make(chan struct{})}
	if ctx.Done() != nil {
		go func() {
			select {
			case <-ctx.Done():
				_ = w.close()
			case <-w.closed:
			}
		}()
	}
	return w
}

func (w *websocket) close() (err error) {
	w.once.Do(func() {
		close(w.closed)
		err = w.conn.Close()
	})
	return err
}

// A failure of the connection, or why the context ended it.
func (w *websocket) broken(err error) error {
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	return err
}

// errClosed ends a conversation; reason is the server's.
type errClosed struct{ reason string }

func (e errClosed) Error() string { return "closed: " + e.reason }

func (c *Client) websocket(ctx context.Context, call *call) (*websocket, error) {
	if call.err != nil {
		return nil, call.err
	}
	request, err := c.request(ctx, call, "*/*", nil)
	if err != nil {
		return nil, err
	}
	var nonce [16]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, lost(c.operation(call), err)
	}
	key := base64.StdEncoding.EncodeToString(nonce[:])
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key} {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		_, err = c.failed(ctx, call, response, err, 0)
		return nil, err
	}
	conn, ok := response.Body.(io.ReadWriteCloser)
	sum := sha1.Sum([]byte(key + wsGUID))
	if !ok || response.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		_ = response.Body.Close()
		return nil, strange(c.operation(call), errors.New("it is no WebSocket"))
	}
	return newWebsocket(ctx, conn), nil
}

// send writes one message as one frame; clients mask what they send.
func (w *websocket) send(kind byte, payload []byte) error {
	frame := []byte{0x80 | kind}
	switch size := len(payload); {
	case size <= wsControlMax:
		frame = append(frame, 0x80|byte(size))
	case size < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(size))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(size))
	}
	var mask [4]byte
	if _, err := rand.Read(mask[:]); err != nil {
		return err
	}
	frame = append(frame, mask[:]...)
	for i, b := range payload {
		frame = append(frame, b^mask[i%4])
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if _, err := w.conn.Write(frame); err != nil {
		return w.broken(err)
	}
	return nil
}

// next waits for a message, text or binary; errClosed at the end.
func (w *websocket) next() (kind byte, message []byte, err error) {
	for {
		part, isLast, payload, err := readFrame(w.reader, wsMessageMax-len(message))
		if err != nil {
			return 0, nil, w.broken(err)
		}
		switch part {
		case wsPing:
			if err := w.send(wsPong, payload); err != nil {
				return 0, nil, err
			}
			continue
		case wsPong:
			continue
		case wsClose:
			_ = w.send(wsClose, payload)
			if len(payload) >= 2 {
				payload = payload[2:]
			}
			return 0, nil, errClosed{string(payload)}
		}
		if (part == wsContinuation) != (kind != 0) {
			return 0, nil, fmt.Errorf("a frame of kind %d in the wrong place", part)
		}
		kind |= part
		message = append(message, payload...)
		if isLast {
			return kind, message, nil
		}
	}
}

// One frame of a server, with at most limit bytes.
func readFrame(r io.Reader, limit int) (kind byte, isLast bool, payload []byte, err error) {
	var head [8]byte
	if _, err = io.ReadFull(r, head[:2]); err != nil {
		return
	}
	kind, isLast = head[0]&0x0f, head[0]&0x80 != 0
	size := uint64(head[1] & 0x7f)
	isControl := kind >= wsClose
	switch {
	case head[0]&0x70 != 0 || head[1]&0x80 != 0:
		return 0, false, nil, errors.New("a frame with an extension or a mask")
	case kind > wsBinary && kind < wsClose || kind > wsPong:
		return 0, false, nil, fmt.Errorf("a frame of kind %d", kind)
	case isControl && (size > wsControlMax || !isLast):
		return 0, false, nil, errors.New("a control frame that is too long or cut")
	case size == 126:
		_, err = io.ReadFull(r, head[:2])
		size = uint64(binary.BigEndian.Uint16(head[:2]))
	case size == 127:
		_, err = io.ReadFull(r, head[:])
		size = binary.BigEndian.Uint64(head[:])
	}
	if err != nil {
		return
	}
	if size > uint64(limit) && !isControl {
		return 0, false, nil, fmt.Errorf("a message of more than %d bytes", wsMessageMax)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r, payload)
	return
}
