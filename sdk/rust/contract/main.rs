//! Runs the calls of tests/contract through this crate: one JSON request on each line of stdin, one answer on each line of stdout.

mod args;
mod calls;
#[rustfmt::skip]
mod dispatch;

use std::io::{BufRead, Write};

use futures_util::StreamExt;
use iii_sandbox::{Api, ClientConfig, Result, SandboxError, TerminalCreateOptions, TerminalManager, OPERATIONS};
use serde_json::{json, Value};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.expect("stdin")).expect("a request");
        let answer = match answer(&request).await {
            Ok(value) => json!({ "ok": value }),
            Err(e) => json!({ "error": explain(&e) }),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).expect("stdout");
    }
}

fn explain(e: &SandboxError) -> Value {
    if let SandboxError::Command { .. } = e {
        return json!({ "code": "command_failed", "status": 200, "message": e.message() });
    }
    json!({ "code": e.code().map_or("client", |code| code.as_str()), "status": e.status(), "message": e.message() })
}

fn connect(request: &Value) -> Result<Api> {
    let token = match request.get("token").and_then(Value::as_str) {
        Some(token) => token.to_string(),
        None => std::env::var("III_TOKEN").unwrap_or_default(),
    };
    Api::connect(ClientConfig {
        base_url: std::env::var("III_URL").expect("III_URL"),
        token: (!token.is_empty()).then_some(token),
        ca_file: std::env::var_os("III_CA_FILE").map(Into::into),
        ..Default::default()
    })
}

async fn answer(request: &Value) -> Result<Value> {
    let name = request["op"].as_str().unwrap_or_default();
    let none = json!({});
    let args = request.get("args").unwrap_or(&none);
    let api = connect(request)?;
    match name {
        "operations" => Ok(json!([OPERATIONS, &["terminal_talk"]].concat())),
        "terminal_talk" => talk(&api, args).await,
        _ if request["stream"] == json!(true) || dispatch::STREAMS.contains(&name) => {
            collect(&api, name, args, request["take"].as_u64()).await
        }
        _ => match calls::call(&api, name, args).await? {
            Some(value) => Ok(value),
            None => dispatch::call(&api, name, args).await,
        },
    }
}

async fn collect(api: &Api, name: &str, args: &Value, take: Option<u64>) -> Result<Value> {
    let mut events = dispatch::stream(api, name, args).await?;
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(event?);
        if take == Some(seen.len() as u64) {
            break;
        }
    }
    Ok(Value::Array(seen))
}

async fn talk(api: &Api, args: &Value) -> Result<Value> {
    let manager = TerminalManager::of(api, &args::arg::<String>(args, "id")?);
    let mut terminal = manager.open(TerminalCreateOptions::default()).await?;
    terminal.send(args::arg::<String>(args, "input")?).await?;
    let found = terminal.read_until(&args::arg::<String>(args, "until")?).await;
    if found.is_err() && terminal.end().is_some() {
        return Ok(json!({ "found": false }));
    }
    found?;
    terminal.close().await?;
    Ok(json!({ "found": true }))
}
