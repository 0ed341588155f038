package main

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// The official SDK. What it would store between two starts is kept as its NewTokenSource hook hands it over.
type sdk struct {
	task    task
	handler auth.OAuthHandler
	config  *oauth2.Config
	token   *oauth2.Token
}

func newSDK(t task) (client, error) {
	s := &sdk{task: t}
	return s, s.authorizeWith(nil)
}

// Makes the handler; with a token source where one is stored.
func (s *sdk) authorizeWith(stored oauth2.TokenSource) (err error) {
	if s.task.Machine {
		s.handler, err = extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
			Credentials: &oauthex.ClientCredentials{
				ClientID:         s.task.ClientID,
				ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: s.task.ClientSecret},
			},
		})
		return err
	}
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:              s.task.RedirectURI,
		AuthorizationCodeFetcher: fetchCode,
		InitialTokenSource:       stored,
		RequestRefreshToken:      true,
		NewTokenSource: func(ctx context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			s.config, s.token = config, token
			return keeping{config.TokenSource(ctx, token), s}, nil
		},
	}
	if s.task.Document != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: s.task.Document}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName:              "Go",
				RedirectURIs:            []string{s.task.RedirectURI},
				GrantTypes:              []string{"authorization_code", "refresh_token"},
				TokenEndpointAuthMethod: "none",
			},
		}
	}
	s.handler, err = auth.NewAuthorizationCodeHandler(config)
	return err
}

// A token source that stores what it gets.
type keeping struct {
	oauth2.TokenSource
	in *sdk
}

func (k keeping) Token() (*oauth2.Token, error) {
	token, err := k.TokenSource.Token()
	if err == nil {
		k.in.token = token
	}
	return token, err
}

func fetchCode(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	answer, err := visit(args.URL)
	if err != nil {
		return nil, err
	}
	if problem := answer.Get("error"); problem != "" {
		return nil, errors.New(problem + ": " + answer.Get("error_description"))
	}
	return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, nil
}

func (s *sdk) call(ctx context.Context, tool string) (string, error) {
	transport := &mcp.StreamableClientTransport{Endpoint: s.task.Server, OAuthHandler: s.handler, DisableStandaloneSSE: true}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
	if err != nil {
		return "", err
	}
	return result.Content[0].(*mcp.TextContent).Text, nil
}

// As after a start with a stored token that has expired.
func (s *sdk) expire() {
	expired := *s.token
	expired.Expiry = time.Now().Add(-time.Minute)
	s.token = &expired
	if err := s.authorizeWith(keeping{s.config.TokenSource(context.Background(), s.token), s}); err != nil {
		panic(err)
	}
}

func (s *sdk) twin() client {
	twin := &sdk{task: s.task, config: s.config, token: s.token}
	twin.expire()
	return twin
}
