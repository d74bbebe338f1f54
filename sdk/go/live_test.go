package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iii.invalid/sandbox"
)

// What is written by hand, against a live server: III_URL is its address, III_TOKEN a token of an administrator. The contract
// scenarios call the rest.

var ctx = context.Background()

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// The environment is that of a user of the server.
func live(t *testing.T) {
	t.Helper()
	if os.Getenv("III_URL") == "" {
		t.Skip("III_URL: the address of a live server")
	}
	t.Setenv("III_SANDBOX_URL", os.Getenv("III_URL"))
	t.Setenv("III_SANDBOX_TOKEN", os.Getenv("III_TOKEN"))
}

func newBox(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	live(t)
	box := must[*sandbox.Sandbox](t)(sandbox.Create(ctx, &sandbox.CreateOptions{Image: "python", Metadata: map[string]string{"test": t.Name()}}))
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

func TestTheLifeOfASandbox(t *testing.T) {
	box := newBox(t)
	same := must[*sandbox.Sandbox](t)(sandbox.Connect(ctx, box.ID()))
	if same.ID() != box.ID() || same.Info().Image != "python" {
		t.Error(same)
	}
	if info := must[*sandbox.SandboxInfo](t)(box.Pause(ctx)); info.Status != "paused" || box.Info().Status != "paused" {
		t.Error(info)
	}
	if _, err := box.Exec(ctx, "true", nil); !errors.Is(err, sandbox.ErrConflict) {
		t.Error(err)
	}
	must[*sandbox.SandboxInfo](t)(box.Resume(ctx))
	if info := must[*sandbox.SandboxInfo](t)(same.Refresh(ctx)); info.Status != "running" {
		t.Error(info)
	}
	for range [2]int{} { // what is gone is closed already
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := sandbox.Connect(ctx, box.ID()); !errors.Is(err, sandbox.ErrNotFound) {
		t.Error(err)
	}
}

func TestListsGoOverPages(t *testing.T) {
	box := newBox(t)
	forks := must[[]*sandbox.Sandbox](t)(box.Fork(ctx, &sandbox.SandboxForkOptions{Count: sandbox.Int(3)}))
	for _, fork := range forks {
		defer fork.Close()
	}
	children := &sandbox.ListOptions{ParentID: box.ID(), PageSize: sandbox.Int(2)}
	if found := must[[]*sandbox.Sandbox](t)(sandbox.List(ctx, children)); len(found) != 3 {
		t.Error(found)
	}
	children.Page = sandbox.Int(2)
	if found := must[[]*sandbox.Sandbox](t)(sandbox.List(ctx, children)); len(found) != 1 {
		t.Error(found)
	}
	if found := must[[]*sandbox.Sandbox](t)(sandbox.List(ctx, nil)); len(found) < 4 {
		t.Error(found)
	}
}

func TestClonesForksAndSnapshots(t *testing.T) {
	box := newBox(t)
	if err := box.Filesystem.Write(ctx, "f", "before"); err != nil {
		t.Fatal(err)
	}
	snapshot := must[*sandbox.SnapshotInfo](t)(box.Snapshot(ctx, "first"))
	copies := must[[]*sandbox.Sandbox](t)(box.Fork(ctx, nil))
	copies = append(copies, must[*sandbox.Sandbox](t)(box.Clone(ctx, "copy of "+box.ID())))
	copies = append(copies, must[*sandbox.Sandbox](t)(box.Client().Snapshots.Clone(ctx, snapshot.ID, "")))
	for _, one := range copies {
		defer one.Close()
		if got := must[string](t)(one.Filesystem.Read(ctx, "f")); got != "before" {
			t.Error(one, got)
		}
	}
	must[*sandbox.Deleted](t)(box.Client().Snapshots.Delete(ctx, snapshot.ID))
}

func TestFilesOfAnyBytes(t *testing.T) {
	box := newBox(t)
	files := box.Filesystem
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	if err := files.WriteBytes(ctx, "raw", every); err != nil {
		t.Fatal(err)
	}
	if got := must[[]byte](t)(files.ReadBytes(ctx, "raw")); !bytes.Equal(got, every) {
		t.Error(got)
	}
	if err := files.Mkdir(ctx, "deep/er", "other"); err != nil {
		t.Fatal(err)
	}
	if err := files.Move(ctx, "raw", "deep/er/raw"); err != nil {
		t.Fatal(err)
	}
	if info := must[*sandbox.FileMetadata](t)(files.Info(ctx, "deep/er/raw")); info.Size != 256 {
		t.Error(info)
	}
	if all := must[[]sandbox.FileMetadata](t)(files.InfoAll(ctx, []string{"deep", "other"})); len(all) != 2 {
		t.Error(all)
	}
	if err := files.Rmdir(ctx, "deep", "other"); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Info(ctx, "deep"); !errors.Is(err, sandbox.ErrNotFound) {
		t.Error(err)
	}
}

func TestFilesAreStreamed(t *testing.T) {
	box := newBox(t)
	files := box.Filesystem
	every := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	size := int64(len(every))
	var up, down [2]int64
	written := must[*sandbox.FileContent](t)(files.WriteFrom(ctx, "/tmp/big", bytes.NewReader(every),
		&sandbox.WriteOptions{Mode: "0600", New: true, Progress: func(done, total int64) { up = [2]int64{done, total} }}))
	if written.Size != size || !written.Created || up != [2]int64{size, size} {
		t.Error(written, up)
	}
	file := must[*sandbox.FileReader](t)(files.Open(ctx, "/tmp/big", &sandbox.ReadOptions{IfMatch: written.Etag, Progress: func(done, total int64) { down = [2]int64{done, total} }}))
	defer file.Close()
	if got := must[[]byte](t)(io.ReadAll(file)); !bytes.Equal(got, every) || down != up || file.Mode != "0600" || file.ETag != written.Etag || file.Modified.IsZero() {
		t.Error(len(got), down, file)
	}
	part := must[*sandbox.FileReader](t)(files.Open(ctx, "/tmp/big", &sandbox.ReadOptions{Offset: 10, Length: 3}))
	defer part.Close()
	if got := must[[]byte](t)(io.ReadAll(part)); string(got) != "abc" || part.Size != 3 {
		t.Error(string(got), part.Size)
	}
	if _, err := files.Open(ctx, "/tmp/big", &sandbox.ReadOptions{Offset: size + 1}); !errors.Is(err, sandbox.ErrRangeNotSatisfiable) {
		t.Error(err)
	}
	for _, options := range []*sandbox.WriteOptions{{New: true}, {IfMatch: `"other"`}} {
		if _, err := files.WriteFrom(ctx, "/tmp/big", bytes.NewReader(every), options); !errors.Is(err, sandbox.ErrPreconditionFailed) {
			t.Error(err)
		}
	}
	if _, err := files.WriteFrom(ctx, "/tmp/part", io.MultiReader(strings.NewReader("begun"), broken{}), nil); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	if _, err := files.Open(ctx, "/tmp/part", nil); !errors.Is(err, sandbox.ErrNotFound) {
		t.Error(err)
	}
}

func TestFilesOfThisHost(t *testing.T) {
	box := newBox(t)
	local := t.TempDir() + "/script"
	if err := os.WriteFile(local, []byte("#!/bin/sh\necho ran\n"), 0o750); err != nil {
		t.Fatal(err)
	}
	must[*sandbox.FileContent](t)(box.Filesystem.UploadFile(ctx, local, "/tmp/script", nil))
	if result := must[*sandbox.ExecResult](t)(box.Exec(ctx, "/tmp/script; chmod 4711 /tmp/script", nil)); result.Stdout != "ran\n" {
		t.Errorf("%+v", result)
	}
	if err := box.Filesystem.DownloadFile(ctx, "/tmp/script", local+"-back", nil); err != nil {
		t.Fatal(err)
	}
	info := must[os.FileInfo](t)(os.Stat(local + "-back"))
	if got := must[[]byte](t)(os.ReadFile(local + "-back")); info.Mode() != 0o711 || !strings.HasSuffix(string(got), "echo ran\n") {
		t.Error(info.Mode(), string(got))
	}
	if err := box.Filesystem.DownloadFile(ctx, "/tmp/missing", local, nil); !errors.Is(err, sandbox.ErrNotFound) {
		t.Error(err)
	}
	if left := must[[]os.DirEntry](t)(os.ReadDir(filepath.Dir(local))); len(left) != 2 {
		t.Error(left)
	}
}

func TestCodeKeepsItsVariables(t *testing.T) {
	box := newBox(t)
	run := func(code string, options *sandbox.CodeOptions) *sandbox.Execution {
		t.Helper()
		return must[*sandbox.Execution](t)(box.RunCode(ctx, code, options))
	}
	other := must[*sandbox.Sandbox](t)(box.Client().Connect(ctx, box.ID()))
	must[*sandbox.Execution](t)(other.RunCode(ctx, "x = 20", nil)) // the context is the sandbox's, not the handle's
	var out strings.Builder
	if got := run("print('seen'); x * 2 + 2", &sandbox.CodeOptions{Stdout: &out}); got.Text != "42" || got.Stdout != "seen\n" || out.String() != "seen\n" || len(got.Results) != 1 {
		t.Errorf("%+v", got)
	}
	if got := run("1 / 0", nil); got.Error == nil || got.Error.Name != "ZeroDivisionError" || len(got.Error.Traceback) == 0 {
		t.Errorf("%+v", got)
	}
	if got := run("import time; time.sleep(60)", &sandbox.CodeOptions{Timeout: time.Millisecond}); !got.TimedOut {
		t.Errorf("%+v", got)
	}
	if got := run("echo $((6 * 7))", &sandbox.CodeOptions{Language: "bash"}); got.Stdout != "42\n" || got.Error != nil {
		t.Errorf("%+v", got)
	}
	if got := run("echo why >&2; exit 1", &sandbox.CodeOptions{Language: "bash"}); got.Error == nil || !strings.Contains(got.Error.Value, "why") {
		t.Errorf("%+v", got)
	}
	if all := must[[]sandbox.Context](t)(box.Contexts.List(ctx)); len(all) != 1 {
		t.Error(all)
	}
}

func TestACommandGetsWhatItIsGiven(t *testing.T) {
	box := newBox(t)
	options := &sandbox.ExecOptions{Env: map[string]string{"A": "b c"}, User: "nobody", Cwd: "/tmp"}
	result := must[*sandbox.ExecResult](t)(box.Exec(ctx, "echo $A; id -un; pwd; echo why >&2; exit 3", options))
	if result.Stdout != "b c\nnobody\n/tmp\n" || result.Stderr != "why\n" || result.Status() != (sandbox.ExitStatus{Code: 3}) {
		t.Errorf("%+v", result)
	}
	options.Check = true
	var failed *sandbox.CommandError
	if _, err := box.Exec(ctx, "echo why >&2; exit 3", options); !errors.As(err, &failed) || failed.Result.ExitCode != 3 || !strings.Contains(err.Error(), "why") {
		t.Error(err)
	}
	if result := must[*sandbox.ExecResult](t)(box.ExecWords(ctx, []string{"printf", "%s", "a b"}, nil)); result.Stdout != "a b" {
		t.Errorf("%+v", result)
	}
	if result := must[*sandbox.ExecResult](t)(box.Exec(ctx, "kill -9 $$", nil)); result.Status().Signal != "KILL" || result.Status().String() != "killed by SIGKILL" {
		t.Errorf("%+v", result)
	}
	key := &sandbox.ExecOptions{IdempotencyKey: "go " + box.ID()}
	if _, err := box.Exec(ctx, "true", key); !errors.Is(err, sandbox.ErrInvalidArgument) { // a space in it
		t.Error(err)
	}
	key.IdempotencyKey = box.ID()
	first := must[*sandbox.ExecResult](t)(box.Exec(ctx, "date +%N", key))
	if again := must[*sandbox.ExecResult](t)(box.Exec(ctx, "date +%N", key)); again.Stdout != first.Stdout {
		t.Error(first, again)
	}
}

func TestInputAndOutputAreBytesOfAnyLength(t *testing.T) {
	box := newBox(t)
	every := make([]byte, 5<<20+1)
	for i := range every {
		every[i] = byte(i)
	}
	var back bytes.Buffer
	result := must[*sandbox.ExecResult](t)(box.ExecWords(ctx, []string{"sh", "-c", "cat; echo end >&2"}, &sandbox.ExecOptions{Stdin: bytes.NewReader(every), Stdout: &back}))
	if !bytes.Equal(back.Bytes(), every) || result.Stdout != "" || result.Stderr != "end\n" || !result.Status().Success() {
		t.Errorf("%d bytes, %+v", back.Len(), result)
	}
	kept := must[*sandbox.ExecResult](t)(box.Exec(ctx, "head -c 11000000 /dev/zero", &sandbox.ExecOptions{Stdin: strings.NewReader("")}))
	if len(kept.Stdout) != 10<<20 || !kept.StdoutTruncated || kept.StderrTruncated {
		t.Errorf("%d bytes, %t", len(kept.Stdout), kept.StdoutTruncated)
	}
	if _, err := box.ExecWords(ctx, []string{"no-such-program"}, &sandbox.ExecOptions{Stdout: io.Discard}); !errors.Is(err, sandbox.ErrInvalidArgument) {
		t.Error(err)
	}
	full := &sandbox.ExecOptions{Stdout: broken{}}
	if _, err := box.Exec(ctx, "yes", full); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	if _, err := box.Client().Handle("sbx_gone").Exec(ctx, "true", full); !errors.Is(err, sandbox.ErrNotFound) {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
func (broken) Read([]byte) (int, error)  { return 0, io.ErrShortWrite }

func TestWhatTakesTooLongIsAnErrorWithItsOutput(t *testing.T) {
	box := newBox(t)
	var out strings.Builder
	for _, options := range []*sandbox.ExecOptions{{Timeout: time.Millisecond}, {Timeout: time.Millisecond, Stderr: &out}} {
		result, err := box.Exec(ctx, "echo so far; sleep 60", options)
		var failure *sandbox.Error
		if !errors.As(err, &failure) || !errors.Is(err, sandbox.ErrTimedOut) || failure.Result != result || !result.Status().TimedOut || result.Stdout != "so far\n" {
			t.Errorf("%+v, %v", result, err)
		}
	}
	for _, options := range []*sandbox.ExecOptions{nil, {Stderr: &out}} {
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		if _, err := box.Exec(short, "sleep 60", options); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
}

func TestAStreamedCommandEndsWithItsStatus(t *testing.T) {
	box := newBox(t)
	options := &sandbox.ExecOptions{Stdin: strings.NewReader("in\n"), Env: map[string]string{"A": "b"}}
	stream := must[*sandbox.Stream[sandbox.ExecStreamChunk]](t)(box.ExecStream(ctx, "cat; echo $A >&2; kill -TERM $$", options))
	var seen []string
	for stream.Next() {
		event := stream.Event()
		if status, ok := event.Status(); ok {
			seen = append(seen, status.String())
		} else {
			seen = append(seen, event.Type+":"+event.Data)
		}
	}
	if got := strings.Join(seen, ","); got != "stdout:in\n,stderr:b\n,killed by SIGTERM" || stream.Err() != nil {
		t.Error(got, stream.Err())
	}
	for _, bad := range []*sandbox.ExecOptions{{Check: true}, {Stdin: strings.NewReader(strings.Repeat("x", 1<<20+1))}} {
		if _, err := box.ExecStream(ctx, "true", bad); !errors.Is(err, sandbox.ErrArgument) {
			t.Error(err)
		}
	}
}

func TestConnectOrCreate(t *testing.T) {
	box := newBox(t)
	name := "go-" + box.ID()
	one := must[*sandbox.Sandbox](t)(sandbox.ConnectOrCreate(ctx, name, &sandbox.CreateOptions{Image: "python"}))
	defer one.Close()
	must[*sandbox.SandboxInfo](t)(one.Pause(ctx))
	two := must[*sandbox.Sandbox](t)(sandbox.ConnectOrCreate(ctx, name, nil))
	if two.ID() != one.ID() || two.Info().Status != "running" {
		t.Error(one, two)
	}
	if found := must[*sandbox.Sandbox](t)(sandbox.Connect(ctx, name)); found.ID() != one.ID() {
		t.Error(found)
	}
	if _, err := sandbox.ConnectOrCreate(ctx, "", nil); !errors.Is(err, sandbox.ErrArgument) {
		t.Error(err)
	}
}

func TestAContextThatDiesIsReplaced(t *testing.T) {
	box := newBox(t)
	first := must[*sandbox.Execution](t)(box.RunCode(ctx, "x = 1; import os; os._exit(3)", nil))
	if first.Error == nil || first.Error.Name != "ContextDied" {
		t.Errorf("%+v", first)
	}
	if got := must[*sandbox.Execution](t)(box.RunCode(ctx, "6 * 7", nil)); got.Text != "42" {
		t.Errorf("%+v", got)
	}
	for _, context := range must[[]sandbox.Context](t)(box.Contexts.List(ctx)) {
		must[*sandbox.ContextDeleted](t)(box.Contexts.Delete(ctx, context.ID))
	}
	if got := must[*sandbox.Execution](t)(box.RunCode(ctx, "8", nil)); got.Text != "8" {
		t.Errorf("%+v", got)
	}
}

func TestTerminals(t *testing.T) {
	box := newBox(t)
	terminal := must[*sandbox.Terminal](t)(box.Terminal.Open(ctx, &sandbox.TerminalCreateOptions{Cols: sandbox.Int(90), Rows: sandbox.Int(20)}))
	must[int](t)(io.WriteString(terminal, "stty size\n"))
	must[string](t)(terminal.ReadUntil("20 90"))
	if err := terminal.Resize(132, 43); err != nil {
		t.Fatal(err)
	}
	must[int](t)(io.WriteString(terminal, "stty size; exit 7\n"))
	if rest := must[[]byte](t)(io.ReadAll(terminal)); !bytes.Contains(rest, []byte("43 132")) || terminal.End().ExitCode != 7 {
		t.Error(string(rest), terminal.End())
	}
	if err := terminal.Close(); err != nil { // it is over already
		t.Error(err)
	}

	second := must[*sandbox.Terminal](t)(box.Terminal.Open(ctx, nil))
	if err := second.Detach(); err != nil {
		t.Fatal(err)
	}
	again := must[*sandbox.Terminal](t)(box.Terminal.Attach(ctx, second.SessionID()))
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if _, err := box.Terminal.Attach(ctx, second.SessionID()); !errors.Is(err, sandbox.ErrNotFound) {
		t.Error(err)
	}
}

func TestAURLOfAPort(t *testing.T) {
	box := newBox(t)
	must[*sandbox.BackgroundExec](t)(box.Background.Start(ctx, sandbox.Words("python3", "-m", "http.server", "8000", "--bind", "127.0.0.1"), nil))
	link := must[string](t)(box.GetURL(ctx, 8000, nil))
	if !strings.Contains(link, "8000-"+strings.TrimPrefix(box.ID(), "sbx_")) {
		t.Error(link)
	}
	if _, err := box.GetURL(ctx, 70000, nil); !errors.Is(err, sandbox.ErrInvalidArgument) {
		t.Error(err)
	}
	jar := must[http.CookieJar](t)(cookiejar.New(nil))
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address) // *.localhost is this host
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
	}}}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		response := must[*http.Response](t)(browser.Get(link))
		body := must[[]byte](t)(io.ReadAll(response.Body))
		response.Body.Close()
		if response.StatusCode == http.StatusOK && bytes.Contains(body, []byte("Directory listing")) {
			break
		}
		if time.Now().After(end) {
			t.Fatal(response.Status, string(body))
		}
	}
	open := must[string](t)(box.GetURL(ctx, 8000, &sandbox.PreviewOpenOptions{Public: true}))
	browser.Jar = nil
	if response := must[*http.Response](t)(browser.Get(open)); response.StatusCode != http.StatusOK {
		t.Error(open, response.Status)
	}
}
