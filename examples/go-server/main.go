// An MCP server with the official Go SDK whose tokens come from the service. The variables PORT, ISSUER and RESOURCE
// configure it. docs/guides/go.md explains it.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

var (
	port     = setting("PORT", "3000")
	issuer   = setting("ISSUER", "http://localhost:9000")
	resource = setting("RESOURCE", "http://localhost:"+port+"/mcp")
)

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// 1. The verification of a token: signature, issuer, audience, time. go-oidc calls the audience ClientID. The keys are fetched
// again when a token names an unknown key.
var verifier = oidc.NewVerifier(issuer, oidc.NewRemoteKeySet(context.Background(), issuer+"/.well-known/jwks.json"),
	&oidc.Config{ClientID: resource, SupportedSigningAlgs: []string{"ES256"}})

func verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	verified, err := verifier.Verify(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", auth.ErrInvalidToken, err)
	}
	var claims struct {
		Scope string         `json:"scope"`
		Cnf   map[string]any `json:"cnf"`
	}
	if err := verified.Claims(&claims); err != nil {
		return nil, fmt.Errorf("%w: %v", auth.ErrInvalidToken, err)
	}
	// A token that is bound to a key (RFC 9449) is not valid without a proof, and this server does not support proofs.
	if claims.Cnf != nil {
		return nil, fmt.Errorf("%w: it needs a DPoP proof", auth.ErrInvalidToken)
	}
	return &auth.TokenInfo{UserID: verified.Subject, Scopes: strings.Fields(claims.Scope), Expiration: verified.Expiry}, nil
}

// 2. The tools. Notes belong to the `sub` of the token, regardless of the client that sent it.
var notes = struct {
	sync.Mutex
	of map[string][]string
}{of: map[string][]string{}}

type note struct {
	Text string `json:"text"`
}

func text(said string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil, nil
}

func listNotes(_ context.Context, request *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	notes.Lock()
	defer notes.Unlock()
	if own := notes.of[request.Extra.TokenInfo.UserID]; len(own) > 0 {
		return text(strings.Join(own, "\n"))
	}
	return text("no notes")
}

func saveNote(_ context.Context, request *mcp.CallToolRequest, input note) (*mcp.CallToolResult, any, error) {
	notes.Lock()
	defer notes.Unlock()
	sub := request.Extra.TokenInfo.UserID
	notes.of[sub] = append(notes.of[sub], input.Text)
	return text("saved")
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "list_notes", Description: "Lists your notes."}, listNotes)
	mcp.AddTool(server, &mcp.Tool{Name: "save_note", Description: "Saves a note."}, saveNote)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})

	// 3. Where clients get tokens (RFC 9728), and which scopes a token needs.
	at, err := url.Parse(resource)
	if err != nil {
		log.Fatal(err)
	}
	scopes := []string{"notes:read", "notes:write"}
	metadataPath := "/.well-known/oauth-protected-resource" + at.Path
	http.Handle(metadataPath, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource:               resource,
		AuthorizationServers:   []string{issuer},
		ScopesSupported:        scopes,
		BearerMethodsSupported: []string{"header"},
	}))
	guard := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: at.Scheme + "://" + at.Host + metadataPath,
		Scopes:              scopes,
	})
	http.Handle(at.Path, guard(handler))
	http.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	log.Fatal(http.ListenAndServe("localhost:"+port, nil))
}
