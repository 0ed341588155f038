//! What other programs in Rust use: oauth2 and openidconnect.
use crate::{Outcome, Task};
use oauth2::basic::BasicClient;
use oauth2::{ClientId, ClientSecret, Scope, TokenResponse, TokenUrl};
use openidconnect::IssuerUrl;
use openidconnect::core::CoreProviderMetadata;
use serde_json::{Value, json};

/// A token of a machine.
pub async fn machine(task: &Task) -> Outcome<Value> {
    let client = BasicClient::new(ClientId::new(task.client_id.clone().unwrap_or_default()))
        .set_client_secret(ClientSecret::new(task.client_secret.clone().unwrap_or_default()))
        .set_token_uri(TokenUrl::new(format!("{}/oauth/token", task.issuer))?);
    let token = client
        .exchange_client_credentials()
        .add_scope(Scope::new("mcp:read".to_string()))
        .add_extra_param("resource", &task.server)
        .request_async(&oauth2::reqwest::Client::new())
        .await?;
    Ok(json!({ "access_token": token.access_token().secret() }))
}

/// The discovery document and the keys, as openidconnect reads them.
pub async fn discover(task: &Task) -> Outcome<Value> {
    let issuer = IssuerUrl::new(task.issuer.clone())?;
    let metadata = CoreProviderMetadata::discover_async(issuer, &openidconnect::reqwest::Client::new()).await?;
    Ok(json!({
        "token_endpoint": metadata.token_endpoint().map(|url| url.to_string()),
        "algorithms": metadata.id_token_signing_alg_values_supported(),
        "keys": metadata.jwks().keys().len(),
    }))
}
