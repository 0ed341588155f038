//! Runs Rust clients through the steps of a task; ../driver.ts has the protocol.
mod libraries;
mod mcp;

use serde::Deserialize;
use serde_json::{Value, json};
use std::io::stdin;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Clone, Deserialize)]
pub struct Task {
    pub client: String,
    pub server: String,
    pub issuer: String,
    pub redirect_uri: String,
    pub document: Option<String>,
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub private_key: Option<String>,
    #[serde(default)]
    pub machine: bool,
    #[serde(default)]
    pub token: String,
    #[serde(default)]
    pub steps: Vec<String>,
}

pub fn say(line: Value) {
    println!("{line}");
}

/// Prints a line and reads the answer.
pub fn ask(line: Value) -> Outcome<String> {
    say(line);
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_string())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let task: Task = serde_json::from_str(&std::env::args().nth(1).ok_or("no task")?)?;
    match task.client.as_str() {
        "rmcp" => mcp::run(task).await,
        "oauth2" => Ok(say(json!({ "result": libraries::machine(&task).await? }))),
        "openidconnect" => Ok(say(json!({ "result": libraries::discover(&task).await? }))),
        other => Err(format!("no client {other}").into()),
    }
}
