package main

import (
	"context"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
	zitadelclient "github.com/zitadel/oidc/v3/pkg/client"
	"github.com/zitadel/oidc/v3/pkg/client/rs"
	"github.com/zitadel/oidc/v3/pkg/client/tokenexchange"
	zitadeloidc "github.com/zitadel/oidc/v3/pkg/oidc"
	"golang.org/x/oauth2/clientcredentials"
)

// Discovers, and verifies an access token with the keys and algorithms that the provider names.
func goOIDC(ctx context.Context, t task) (any, error) {
	provider, err := oidc.NewProvider(ctx, t.Issuer)
	if err != nil {
		return nil, err
	}
	token, err := provider.Verifier(&oidc.Config{ClientID: t.Server}).Verify(ctx, t.Token)
	if err != nil {
		return nil, err
	}
	return map[string]any{"sub": token.Subject, "aud": token.Audience, "token_endpoint": provider.Endpoint().TokenURL}, nil
}

// A token of a machine, for no resource that it could name.
func xOAuth2(ctx context.Context, t task) (any, error) {
	config := &clientcredentials.Config{
		ClientID:     t.ClientID,
		ClientSecret: t.ClientSecret,
		TokenURL:     t.Issuer + "/oauth/token",
	}
	token, err := config.Token(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]any{"access_token": token.AccessToken, "scope": token.Extra("scope")}, nil
}

// A resource server that introspects what it was sent.
func zitadel(ctx context.Context, t task) (any, error) {
	discovery, err := zitadelclient.Discover(ctx, t.Issuer, http.DefaultClient)
	if err != nil {
		return nil, err
	}
	server, err := rs.NewResourceServerClientCredentials(ctx, t.Issuer, t.ClientID, t.ClientSecret)
	if err != nil {
		return nil, err
	}
	answer, err := rs.Introspect[*zitadeloidc.IntrospectionResponse](ctx, server, t.Token)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"active": answer.Active, "sub": answer.Subject, "scope": answer.Scope, "introspection_endpoint": discovery.IntrospectionEndpoint,
	}, nil
}

// A service with a key of its own: exchanges a token of a user, and introspects the new one.
func zitadelKey(ctx context.Context, t task) (any, error) {
	signer, err := zitadelclient.NewSignerFromPrivateKeyByte([]byte(t.PrivateKey), t.KeyID)
	if err != nil {
		return nil, err
	}
	exchanger, err := tokenexchange.NewTokenExchangerJWTProfile(ctx, t.Issuer, t.ClientID, signer)
	if err != nil {
		return nil, err
	}
	kind := zitadeloidc.AccessTokenType
	resources, scopes := []string{t.Server}, []string{"mcp:read"}
	token, err := tokenexchange.ExchangeToken(ctx, exchanger, t.Token, kind, "", "", resources, nil, scopes, kind)
	if err != nil {
		return nil, err
	}
	server, err := rs.NewResourceServerJWTProfile(ctx, t.Issuer, t.ClientID, t.KeyID, []byte(t.PrivateKey))
	if err != nil {
		return nil, err
	}
	answer, err := rs.Introspect[*zitadeloidc.IntrospectionResponse](ctx, server, token.AccessToken)
	if err != nil {
		return nil, err
	}
	return map[string]any{"active": answer.Active, "sub": answer.Subject, "client_id": answer.ClientID}, nil
}
