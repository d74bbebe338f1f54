package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const contentPath = "/sandbox/sandboxes/{id}/files/content"

// Progress is told how many bytes have been moved; total is -1 while nobody knows it.
type Progress func(done, total int64)

// ReadOptions are those of reading the bytes of a file.
type ReadOptions struct {
	// First byte, and how many; 0 and 0: all of them
	Offset, Length int64
	// Read only this version, the ETag of an earlier answer; another one is an ErrPreconditionFailed
	IfMatch  string
	Progress Progress
}

// WriteOptions are those of writing the bytes of a file.
type WriteOptions struct {
	// Octal digits; otherwise the mode of the old file, or 0644
	Mode string
	// Write only over this version, the ETag of an earlier answer; another one is an ErrPreconditionFailed
	IfMatch string
	// Write only a new file; one that is there is an ErrPreconditionFailed
	New      bool
	Progress Progress
}

// FileReader gives the bytes of a file as they come. Close it.
type FileReader struct {
	io.Reader
	// Of what is read, a range or all; -1 when the server does not know
	Size int64
	// Version of the file
	ETag string
	// Octal digits
	Mode     string
	Modified time.Time
	body     io.Closer
}

// Close leaves the file, read to its end or not.
func (f *FileReader) Close() error { return f.body.Close() }

// Open reads a file of any size, or a part of it.
func (m *FilesystemManager) Open(ctx context.Context, path string, options *ReadOptions) (*FileReader, error) {
	o := ReadOptions{}
	if options != nil {
		o = *options
	}
	c := newCall(http.MethodGet, contentPath, m.id)
	c.safe = true
	c.ask("path", path)
	c.header = http.Header{}
	if o.IfMatch != "" {
		c.header.Set("If-Match", o.IfMatch)
	}
	if o.Offset != 0 || o.Length != 0 {
		last := ""
		if o.Length > 0 {
			last = strconv.FormatInt(o.Offset+o.Length-1, 10)
		}
		c.header.Set("Range", "bytes="+strconv.FormatInt(o.Offset, 10)+"-"+last)
	}
	response, err := m.api.client.send(ctx, c, "*/*")
	if err != nil {
		return nil, err
	}
	modified, _ := http.ParseTime(response.Header.Get("Last-Modified"))
	file := &FileReader{Reader: response.Body, Size: response.ContentLength, ETag: response.Header.Get("ETag"),
		Mode: response.Header.Get("X-File-Mode"), Modified: modified, body: response.Body}
	if o.Progress != nil {
		file.Reader = &counted{from: response.Body, total: file.Size, tell: o.Progress}
	}
	return file, nil
}

// WriteFrom writes a file of any size; it is in place when all bytes have arrived, with the folders above it.
func (m *FilesystemManager) WriteFrom(ctx context.Context, path string, from io.Reader, options *WriteOptions) (*FileContent, error) {
	o := WriteOptions{}
	if options != nil {
		o = *options
	}
	c := newCall(http.MethodPut, contentPath, m.id)
	c.long = true
	c.ask("path", path)
	if o.Mode != "" {
		c.ask("mode", o.Mode)
	}
	c.header = http.Header{}
	if o.IfMatch != "" {
		c.header.Set("If-Match", o.IfMatch)
	}
	if o.New {
		c.header.Set("If-None-Match", "*")
	}
	c.content, c.size = from, sizeOf(from)
	if o.Progress != nil {
		c.content = &counted{from: from, total: c.size, tell: o.Progress}
	}
	return ask[*FileContent](ctx, m.api.client, c)
}

// How many bytes are left in a reader; -1 when only reading tells.
func sizeOf(from io.Reader) int64 {
	switch r := from.(type) {
	case interface{ Len() int }: // of bytes and strings
		return int64(r.Len())
	case *os.File:
		info, err := r.Stat()
		at, seeked := r.Seek(0, io.SeekCurrent)
		if err == nil && seeked == nil && info.Mode().IsRegular() {
			return info.Size() - at
		}
	}
	return -1
}

type counted struct {
	from        io.Reader
	done, total int64
	tell        Progress
}

func (c *counted) Read(buffer []byte) (int, error) {
	n, err := c.from.Read(buffer)
	c.done += int64(n)
	if n > 0 {
		c.tell(c.done, c.total)
	}
	return n, err
}

// UploadFile copies a file of this host into the sandbox, with its mode unless the options have one.
func (m *FilesystemManager) UploadFile(ctx context.Context, local, path string, options *WriteOptions) (*FileContent, error) {
	file, err := os.Open(local)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	o := WriteOptions{}
	if options != nil {
		o = *options
	}
	if info, err := file.Stat(); err == nil && o.Mode == "" {
		o.Mode = "0" + strconv.FormatUint(uint64(info.Mode().Perm()), 8)
	}
	return m.WriteFrom(ctx, path, file, &o)
}

// DownloadFile copies a file of the sandbox to this host, with its mode. One that breaks off leaves what was there before.
func (m *FilesystemManager) DownloadFile(ctx context.Context, path, local string, options *ReadOptions) error {
	from, err := m.Open(ctx, path, options)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.CreateTemp(filepath.Dir(local), "."+filepath.Base(local)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name()) // it is gone when all went well
	if _, err = io.Copy(to, from); err == nil {
		err = to.Chmod(permissions(from.Mode))
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(to.Name(), local)
}

// What a sandbox says about its file, without the bits that give rights.
func permissions(mode string) os.FileMode {
	bits, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		bits = 0o644
	}
	return os.FileMode(bits) & 0o777
}

// WriteBytes writes a file of any bytes.
func (m *FilesystemManager) WriteBytes(ctx context.Context, path string, content []byte) error {
	_, err := m.WriteFrom(ctx, path, bytes.NewReader(content), nil)
	return err
}

// ReadBytes reads a whole file of any bytes; [FilesystemManager.Open] is for those that are larger than the memory.
func (m *FilesystemManager) ReadBytes(ctx context.Context, path string) ([]byte, error) {
	file, err := m.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// Info describes one file or folder.
func (m *FilesystemManager) Info(ctx context.Context, path string) (*FileMetadata, error) {
	found, err := m.api.FsInfo(ctx, m.id, &FsInfoOptions{Path: path})
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, strange("info of "+path, errors.New("it describes no file, or several"))
	}
	return &found[0], nil
}

// InfoAll describes several, in the same order.
func (m *FilesystemManager) InfoAll(ctx context.Context, paths []string) ([]FileMetadata, error) {
	return m.api.FsInfo(ctx, m.id, &FsInfoOptions{Paths: paths})
}

// Move moves a file or folder.
func (m *FilesystemManager) Move(ctx context.Context, from, to string) error {
	return m.MoveAll(ctx, []FsMoveMove{{From: from, To: to}})
}

// Mkdir makes folders, with those above them.
func (m *FilesystemManager) Mkdir(ctx context.Context, paths ...string) error {
	_, err := m.api.FsMkdir(ctx, m.id, &FsMkdirOptions{Paths: paths})
	return err
}

// Rmdir removes folders, with everything in them.
func (m *FilesystemManager) Rmdir(ctx context.Context, paths ...string) error {
	_, err := m.api.FsRmdir(ctx, m.id, &FsRmdirOptions{Paths: paths})
	return err
}
