package main

import (
	"context"
	"errors"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcp-go: the application asks for authorization and names the scopes.
type mcpGo struct {
	task  task
	store *transport.MemoryTokenStore
	id    string
}

func newMCPGo(t task) (client, error) {
	return &mcpGo{task: t, store: transport.NewMemoryTokenStore()}, nil
}

func (m *mcpGo) call(ctx context.Context, tool string) (string, error) {
	config := mcpclient.OAuthConfig{
		ClientID:    m.id,
		RedirectURI: m.task.RedirectURI,
		TokenStore:  m.store,
		PKCEEnabled: true,
	}
	if m.task.Scope != "" {
		config.Scopes = []string{m.task.Scope}
	}
	c, err := mcpclient.NewOAuthStreamableHttpClient(m.task.Server, config)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := m.open(ctx, c); err != nil {
		return "", err
	}
	result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool}})
	if err != nil {
		return "", err
	}
	return result.Content[0].(mcp.TextContent).Text, nil
}

func (m *mcpGo) open(ctx context.Context, c *mcpclient.Client) error {
	start := func() error {
		if err := c.Start(ctx); err != nil {
			return err
		}
		_, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
			ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION,
			ClientInfo:      mcp.Implementation{Name: "go", Version: "1"},
		}})
		return err
	}
	err := start()
	if !mcpclient.IsOAuthAuthorizationRequiredError(err) {
		return err
	}
	if err := m.authorize(ctx, mcpclient.GetOAuthHandler(err)); err != nil {
		return err
	}
	return start()
}

func (m *mcpGo) authorize(ctx context.Context, handler *transport.OAuthHandler) error {
	if handler.GetClientID() == "" {
		if err := handler.RegisterClient(ctx, "Go"); err != nil {
			return err
		}
		m.id = handler.GetClientID()
	}
	verifier, err := mcpclient.GenerateCodeVerifier()
	if err != nil {
		return err
	}
	state, err := mcpclient.GenerateState()
	if err != nil {
		return err
	}
	at, err := handler.GetAuthorizationURL(ctx, state, mcpclient.GenerateCodeChallenge(verifier))
	if err != nil {
		return err
	}
	answer, err := visit(at)
	if err != nil {
		return err
	}
	if answer.Get("error") != "" {
		return errors.New(answer.Get("error") + ": " + answer.Get("error_description"))
	}
	return handler.ProcessAuthorizationResponse(ctx, answer.Get("code"), answer.Get("state"), verifier)
}

func (m *mcpGo) expire() {
	token, err := m.store.GetToken(context.Background())
	if err != nil {
		panic(err)
	}
	expired := *token
	expired.ExpiresAt = time.Now().Add(-time.Minute)
	if err := m.store.SaveToken(context.Background(), &expired); err != nil {
		panic(err)
	}
}

func (m *mcpGo) twin() client {
	twin := &mcpGo{task: m.task, store: transport.NewMemoryTokenStore(), id: m.id}
	token, err := m.store.GetToken(context.Background())
	if err == nil {
		err = twin.store.SaveToken(context.Background(), token)
	}
	if err != nil {
		panic(err)
	}
	return twin
}
