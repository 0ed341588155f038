//! rmcp, the official SDK. What it would keep between two starts is in its credential store.
use crate::{Outcome, Task, ask, say};
use rmcp::model::CallToolRequestParams;
use rmcp::transport::auth::{
    AuthClient, AuthorizationCallback, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    ClientCredentialsConfig, CredentialStore, InMemoryCredentialStore, JwtSigningAlgorithm,
};
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig};
use rmcp::{ServiceExt, model::ClientConfig};
use serde_json::json;

type Http = AuthClient<reqwest::Client>;

struct Client {
    task: Task,
    store: InMemoryCredentialStore,
    http: Option<Http>,
}

pub async fn run(task: Task) -> Outcome<()> {
    let mut client = Client { task: task.clone(), store: InMemoryCredentialStore::new(), http: None };
    for step in &task.steps {
        match step.as_str() {
            "expire" => {
                ask(json!({ "expire": true }))?;
                client.expire().await?;
            }
            "twins" => {
                let mut twin = client.twin().await?;
                let (first, second) = tokio::join!(client.call("whoami"), twin.call("whoami"));
                say(json!({ "text": first? }));
                say(json!({ "text": second? }));
            }
            tool => say(json!({ "text": client.call(tool).await? })),
        }
    }
    Ok(())
}

impl Client {
    /// Calls a tool. Where more scopes are needed, the person is asked for them.
    async fn call(&mut self, tool: &str) -> Outcome<String> {
        let http = match &self.http {
            Some(http) => http.clone(),
            None => self.http.insert(self.authorize().await?).clone(),
        };
        match self.call_with(http.clone(), tool).await {
            Err(error) if tool == "save" && format!("{error:?}").contains("nsufficient") => {
                let manager = http.auth_manager.lock().await;
                let callback = open(&manager.request_scope_upgrade("mcp:write").await?)?;
                let AuthorizationCallback { code, csrf_token, issuer, .. } = callback;
                manager.exchange_code_for_token_with_issuer(&code, &csrf_token, issuer.as_deref()).await?;
                drop(manager);
                self.call_with(http, tool).await
            }
            outcome => outcome,
        }
    }

    async fn call_with(&self, http: Http, tool: &str) -> Outcome<String> {
        let config = StreamableHttpClientTransportConfig::with_uri(self.task.server.clone());
        let transport = StreamableHttpClientTransport::with_client(http, config);
        let service = ClientConfig::default().serve(transport).await?;
        let result = service.call_tool(CallToolRequestParams::new(tool.to_string())).await;
        service.cancel().await?;
        let value = serde_json::to_value(result?)?;
        Ok(value["content"][0]["text"].as_str().unwrap_or_default().to_string())
    }

    async fn manager(&self) -> Outcome<AuthorizationManager> {
        let mut manager = AuthorizationManager::new(self.task.server.as_str()).await?;
        manager.set_credential_store(self.store.clone());
        Ok(manager)
    }

    async fn authorize(&self) -> Outcome<Http> {
        let mut manager = self.manager().await?;
        let refused = reqwest::Client::new().post(&self.task.server).body("{}").send().await?;
        let challenge = refused.headers().get("www-authenticate").ok_or("no challenge")?.to_str()?;
        let resolution = manager.resolve_metadata_from_challenge(Some(challenge)).await?;
        manager.set_metadata(resolution.metadata);
        if self.task.machine {
            return self.authorize_machine(manager).await;
        }
        let mut request = AuthorizationRequest::new(self.task.redirect_uri.clone())
            .with_client_name("Rust");
        // What its documentation recommends: first the scopes of the challenge. Without it, every scope that it has heard of.
        if challenge.contains("scope=") {
            request = request.with_initial_scope_selection();
        }
        if let Some(document) = &self.task.document {
            request = request.with_client_metadata_url(document.clone());
        }
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)?;
        let callback = ask(json!({ "open": session.get_authorization_url() }))?;
        session.handle_callback_url(&callback).await?;
        Ok(AuthClient::new(reqwest::Client::new(), session.auth_manager))
    }

    async fn authorize_machine(&self, mut manager: AuthorizationManager) -> Outcome<Http> {
        let client_id = self.task.client_id.clone().unwrap_or_default();
        let scopes = manager.select_scopes(None, &[]);
        let resource = Some(self.task.server.clone());
        let config = match &self.task.private_key {
            Some(pem) => ClientCredentialsConfig::PrivateKeyJwt {
                client_id,
                signing_key: pem.clone().into_bytes(),
                signing_algorithm: JwtSigningAlgorithm::ES256,
                token_endpoint_audience: None,
                scopes,
                resource,
            },
            None => ClientCredentialsConfig::ClientSecret {
                client_id,
                client_secret: self.task.client_secret.clone().unwrap_or_default(),
                scopes,
                resource,
            },
        };
        manager.configure_client_credentials(&config)?;
        manager.exchange_client_credentials(&config).await?;
        Ok(AuthClient::new(reqwest::Client::new(), manager))
    }

    /// Has the stored token be an old one.
    async fn expire(&mut self) -> Outcome<()> {
        let mut stored = self.store.load().await?.ok_or("nothing is stored")?;
        stored.token_received_at = Some(0);
        Ok(self.store.save(stored).await?)
    }

    /// The same client in another process, with a copy of what this one has stored.
    async fn twin(&self) -> Outcome<Client> {
        let store = InMemoryCredentialStore::new();
        store.save(self.store.load().await?.ok_or("nothing is stored")?).await?;
        let mut twin = Client { task: self.task.clone(), store, http: None };
        let mut manager = twin.manager().await?;
        manager.initialize_from_store().await?;
        twin.http = Some(AuthClient::new(reqwest::Client::new(), manager));
        Ok(twin)
    }
}

fn open(url: &str) -> Outcome<AuthorizationCallback> {
    Ok(AuthorizationCallback::from_redirect_url(&ask(json!({ "open": url }))?)?)
}
