//! Between the JSON of the scenarios and the types of the crate.

use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use iii_sandbox::{Api, EventStream, Result, Sandbox, SandboxError};
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

pub type Values = Pin<Box<dyn Stream<Item = Result<Value>> + Send>>;

/// A required argument.
pub fn arg<T: DeserializeOwned>(args: &Value, name: &str) -> Result<T> {
    let given = args.get(name).cloned().unwrap_or(Value::Null);
    serde_json::from_value(given).map_err(|e| SandboxError::InvalidArgument(format!("{name}: {e}")))
}

pub fn id(args: &Value) -> Result<String> {
    arg(args, "id")
}

pub async fn sandbox(api: &Api, args: &Value) -> Result<Sandbox> {
    Ok(Sandbox::new(api.clone(), api.sandbox_get(&id(args)?).await?))
}

/// The optional ones.
pub fn options<T: DeserializeOwned>(args: &Value) -> Result<T> {
    Ok(serde_json::from_value(args.clone())?)
}

pub fn key(args: &Value) -> Option<String> {
    args.get("Idempotency-Key").and_then(Value::as_str).map(str::to_string)
}

pub fn value<T: Serialize>(answer: T) -> Result<Value> {
    Ok(serde_json::to_value(answer)?)
}

pub fn values<T: Serialize + 'static>(events: EventStream<T>) -> Values {
    Box::pin(events.map(|event| value(event?)))
}
