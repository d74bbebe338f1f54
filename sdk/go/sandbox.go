package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// CreateOptions say what a new sandbox is made from; without image and template the server's default image, python.
type CreateOptions = SandboxCreateOptions

// ListOptions say which sandboxes are listed.
type ListOptions = SandboxListOptions

// Sandbox is one sandbox. It lives on when this value is gone: [Sandbox.Close] ends it.
type Sandbox struct {
	SandboxManagers

	api   *API
	id    string
	mutex sync.Mutex
	info  SandboxInfo
}

// Create creates and starts a sandbox on the server of the environment.
func Create(ctx context.Context, options *CreateOptions) (*Sandbox, error) {
	return byEnvironment(func(c *Client) (*Sandbox, error) { return c.Create(ctx, options) })
}

// Connect finds a sandbox of the server of the environment by its id, its name or the beginning of its id.
func Connect(ctx context.Context, idOrName string) (*Sandbox, error) {
	return byEnvironment(func(c *Client) (*Sandbox, error) { return c.Connect(ctx, idOrName) })
}

// ConnectOrCreate is [Client.ConnectOrCreate] on the server of the environment.
func ConnectOrCreate(ctx context.Context, name string, options *CreateOptions) (*Sandbox, error) {
	return byEnvironment(func(c *Client) (*Sandbox, error) { return c.ConnectOrCreate(ctx, name, options) })
}

// List gives the sandboxes of the server of the environment.
func List(ctx context.Context, options *ListOptions) ([]*Sandbox, error) {
	return byEnvironment(func(c *Client) ([]*Sandbox, error) { return c.List(ctx, options) })
}

func byEnvironment[T any](do func(*Client) (T, error)) (T, error) {
	client, err := NewClient(Config{})
	if err != nil {
		var none T
		return none, err
	}
	return do(client)
}

// Create creates and starts a sandbox.
func (c *Client) Create(ctx context.Context, options *CreateOptions) (*Sandbox, error) {
	return c.described(c.API.SandboxCreate(ctx, options))
}

// Connect finds a sandbox by its id, its name or the beginning of its id.
func (c *Client) Connect(ctx context.Context, idOrName string) (*Sandbox, error) {
	return c.described(c.API.SandboxGet(ctx, idOrName))
}

// ConnectOrCreate gives the sandbox of this name, awake if it was paused or stopped; or a new one, for which the options are.
// However many ask at once, all get the same.
func (c *Client) ConnectOrCreate(ctx context.Context, name string, options *CreateOptions) (*Sandbox, error) {
	if name == "" {
		return nil, &Error{Code: ErrArgument, Message: "ConnectOrCreate: a sandbox without a name cannot be found again"}
	}
	all := CreateOptions{}
	if options != nil {
		all = *options
	}
	all.Name, all.IfExists = name, "connect"
	info, err := c.API.SandboxCreate(ctx, &all)
	if err == nil && info.Status != "running" {
		info, err = c.API.SandboxStart(ctx, info.ID)
	}
	return c.described(info, err)
}

// List gives all sandboxes that match; with a page in its options, those of this page.
func (c *Client) List(ctx context.Context, options *ListOptions) ([]*Sandbox, error) {
	given := ListOptions{PageSize: Int(200)}
	if options != nil {
		given = *options
	}
	isOnePage := given.Page != nil
	found := []*Sandbox{}
	for page := int64(1); ; page++ {
		if !isOnePage {
			given.Page = Int(page)
		}
		reply, err := c.API.SandboxList(ctx, &given)
		if err != nil {
			return nil, err
		}
		for i := range reply.Items {
			found = append(found, c.sandbox(reply.Items[i]))
		}
		if isOnePage || len(reply.Items) == 0 || page*reply.PageSize >= reply.Total {
			return found, nil
		}
	}
}

// Handle is a sandbox by its id, without asking the server.
func (c *Client) Handle(id string) *Sandbox {
	return c.sandbox(SandboxInfo{ID: id})
}

func (c *Client) sandbox(info SandboxInfo) *Sandbox {
	return &Sandbox{SandboxManagers: newSandboxManagers(c.API, info.ID), api: c.API, id: info.ID, info: info}
}

func (c *Client) described(info *SandboxInfo, err error) (*Sandbox, error) {
	if err != nil {
		return nil, err
	}
	if info.ID == "" {
		return nil, strange(c.base, errors.New("a sandbox without an id"))
	}
	return c.sandbox(*info), nil
}

// ID of the sandbox.
func (m *Sandbox) ID() string { return m.id }

// Info is the server's record of it, as of the last answer that described it: see [Sandbox.Refresh].
func (m *Sandbox) Info() SandboxInfo {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.info
}

// Client is the server that the sandbox is on.
func (m *Sandbox) Client() *Client { return m.api.client }

// Format prints id, status and image, whatever the verb.
func (m *Sandbox) Format(f fmt.State, verb rune) {
	info := m.Info()
	_, _ = io.WriteString(f, "sandbox.Sandbox("+info.ID+" "+info.Status+" "+info.Image+")")
}

func (m *Sandbox) keep(info *SandboxInfo, err error) (*SandboxInfo, error) {
	if err != nil {
		return nil, err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.info = *info
	return info, nil
}

// Refresh asks the server for Info again.
func (m *Sandbox) Refresh(ctx context.Context) (*SandboxInfo, error) {
	return m.keep(m.api.SandboxGet(ctx, m.id))
}

// Close kills the sandbox; one that is gone already is no error. It has no context, for defer.
func (m *Sandbox) Close() error {
	err := m.Kill(context.Background())
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Clone starts a sandbox with the files and configuration of this one. name may be "".
func (m *Sandbox) Clone(ctx context.Context, name string) (*Sandbox, error) {
	return m.api.client.described(m.api.SandboxClone(ctx, m.id, &SandboxCloneOptions{Name: name}))
}

// Fork starts several sandboxes with the files and configuration of this one; without a count, one.
func (m *Sandbox) Fork(ctx context.Context, options *SandboxForkOptions) ([]*Sandbox, error) {
	reply, err := m.api.SandboxFork(ctx, m.id, options)
	if err != nil {
		return nil, err
	}
	made := make([]*Sandbox, len(reply.Sandboxes))
	for i := range made {
		made[i] = m.api.client.sandbox(reply.Sandboxes[i])
	}
	return made, nil
}

// GetURL is where a web server on this port of the sandbox is opened in a browser: an origin of its own. On a server with tokens
// the link works once, and becomes a cookie of that browser; with Public, it works for everyone who has it. Programs may send
// their token to the URL of [PortManager.Preview] instead.
func (m *Sandbox) GetURL(ctx context.Context, port int, options *PreviewOpenOptions) (string, error) {
	preview, err := m.Ports.Preview(ctx, int64(port), options)
	if err != nil {
		return "", err
	}
	if preview.Public {
		return preview.URL, nil
	}
	return first(preview.SignedURL, preview.URL), nil
}

// Clone starts a sandbox from a snapshot. name may be "".
func (m *SnapshotManager) Clone(ctx context.Context, snapshotID, name string) (*Sandbox, error) {
	return m.api.client.described(m.api.SnapshotClone(ctx, snapshotID, &SnapshotCloneOptions{Name: name}))
}
