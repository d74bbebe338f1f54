package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// A connection whose other side has said everything already.
type recorded struct {
	io.Reader
	bytes.Buffer
}

func (r *recorded) Read(p []byte) (int, error) { return r.Reader.Read(p) }
func (r *recorded) Close() error               { return nil }

func talk(input string) (*websocket, *recorded) {
	conn := &recorded{Reader: strings.NewReader(input)}
	return newWebsocket(background, conn), conn
}

// What a client sent, unmasked.
func sent(t *testing.T, frame []byte) (kind byte, payload string) {
	t.Helper()
	size, rest := int(frame[1]&0x7f), frame[2:]
	switch size {
	case 126:
		size, rest = int(binary.BigEndian.Uint16(rest)), rest[2:]
	case 127:
		size, rest = int(binary.BigEndian.Uint64(rest)), rest[8:]
	}
	if frame[0]&0x80 == 0 || frame[1]&0x80 == 0 || len(rest) != size+4 {
		t.Fatalf("a frame of %d bytes that begins %x", len(frame), frame[:2])
	}
	for i := range rest[4:] {
		rest[4+i] ^= rest[i%4]
	}
	return frame[0] & 0x0f, string(rest[4:])
}

func TestFramesOfEverySizeAreMasked(t *testing.T) {
	for _, size := range []int{0, 1, 125, 126, 65535, 65536} {
		w, conn := talk("")
		text := strings.Repeat("k", size)
		if err := w.send(wsBinary, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if kind, got := sent(t, conn.Buffer.Bytes()); kind != wsBinary || got != text {
			t.Errorf("%d bytes came as kind %d, %d bytes", size, kind, len(got))
		}
	}
}

func TestMessagesPingsAndTheEnd(t *testing.T) {
	w, conn := talk("\x89\x02hi" + "\x01\x01a" + "\x8a\x00" + "\x80\x01b" + "\x82\x7e\x00\x03xyz" + "\x88\x08\x03\xe8exit 7")
	for _, want := range []string{"ab", "xyz"} {
		if _, got, err := w.next(); string(got) != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if kind, got := sent(t, conn.Buffer.Bytes()); kind != wsPong || got != "hi" {
		t.Error(kind, got)
	}
	_, _, err := w.next()
	var closed errClosed
	if !errors.As(err, &closed) || closed.reason != "exit 7" {
		t.Error(err)
	}
	if end := endOf(closed.reason); end.ExitCode != 7 {
		t.Error(end)
	}
	if end := endOf("closed"); end.ExitCode != -1 || end.Reason != "closed" {
		t.Error(end)
	}
}

func TestFramesThatNoServerMaySend(t *testing.T) {
	for _, bad := range []string{
		"\xc2\x00", "\x82\x80\x00\x00\x00\x00", "\x83\x00", "\x8b\x00", "\x89\x7e\x00\x80", "\x09\x00", "\x80\x00", "\x02\x00\x82\x00",
		"\x82\x7f\x00\x00\x00\x00\x01\x00\x00\x01", "\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "\x82\x05abc", "\x82",
	} {
		w, _ := talk(bad)
		if _, got, err := w.next(); err == nil {
			t.Errorf("%q gives %q", bad, got)
		}
	}
}

func FuzzFrames(f *testing.F) {
	for _, seed := range []string{"\x89\x02hi\x82\x03xyz", "\x01\x01a\x80\x01b", "\x88\x08\x03\xe8exit 7", "\x82\x7e\x00\x80", "\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x01a"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, _ := talk(string(data))
		for {
			_, message, err := w.next()
			if err != nil {
				return
			}
			if len(message) > len(data) {
				t.Errorf("%d bytes out of %d", len(message), len(data))
			}
		}
	})
}
